//! Lost messages.

use super::*;

/// Whichever one or two messages are lost, on whichever hops: the path is right again within the time of three
/// retransmissions or two refreshes, and stays so.
#[test]
fn the_path_converges_after_any_two_losses() {
    for protocol in [UNF, MSF, SSF, MNF, HARD, SEMISOFT] {
        // A handoff and its preparation take eighteen hops of messages at most; later ones are refreshes.
        for first in 0..20 {
            for second in first..20 {
                let mut domain = Domain::new(protocol);
                domain.attach(OLD);
                domain.net.run_until(at(1_000));
                let begun = domain.air().messages;
                domain.air().lost = vec![begun + first, begun + second];
                let now = domain.net.now();
                let to = interface(MOBILE, NEW);
                domain.phone().client.prepare(now, to);
                domain.net.run_for(Duration::from_millis(200));
                domain.attach(NEW);
                domain.net.run_for(Duration::from_millis(6_500));
                let case = format!("{protocol:?}, messages {first} and {second}");
                assert!(domain.reaches(), "{case}");
                let routers: Vec<usize> = domain.ways().into_keys().collect();
                for router in [ROOT, R0, R2, NEW] {
                    assert!(routers.contains(&router), "{case}: {router} has no entry");
                }
                domain.net.run_for(Duration::from_secs(10));
                assert!(domain.reaches(), "{case}, later");
            }
        }
    }
}

/// An old base station that does not answer is given up after three handoffs: the mobile sets up its path from the
/// root.
#[test]
fn a_mobile_turns_to_the_root_when_handoffs_fail() {
    for protocol in [UNF, MSF, SSF, MNF] {
        let mut domain = Domain::new(protocol);
        domain.attach(OLD);
        domain.net.run_until(at(1_000));
        // A router that knows no mobile refuses all messages.
        let mut deaf = router_config(OLD, protocol);
        deaf.mobiles.clear();
        *domain.router(OLD) = DomainRouter::new(deaf);
        domain.attach(NEW);
        domain.net.run_until(at(5_000));
        assert!(domain.reaches(), "{protocol:?}");
        let ready = ClientEvent::Ready(interface(MOBILE, NEW));
        // The fourth message goes 3 s later, and is answered after four hops there and back.
        assert_eq!(domain.phone().events.last(), Some(&(at(4_080), ready)));
    }
}
