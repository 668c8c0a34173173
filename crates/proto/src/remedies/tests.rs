//! What holds for all remedies.

use super::Kind;

#[test]
fn names_are_found_again_and_are_not_shared() {
    for &kind in Kind::ALL {
        assert_eq!(Kind::named(kind.name()), Some(kind));
    }
    assert_eq!(Kind::named("nothing"), None);
}

#[test]
fn contradictions_are_mutual_and_each_contradicts_itself() {
    for &one in Kind::ALL {
        assert!(one.contradicts(one).is_some());
        for &two in Kind::ALL {
            assert_eq!(
                one.contradicts(two),
                two.contradicts(one),
                "{one:?} {two:?}"
            );
        }
    }
}
