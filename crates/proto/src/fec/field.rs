//! The field GF(2^8) with the polynomial x^8 + x^4 + x^3 + x^2 + 1 (0x11D), of which alpha = 2 generates all elements
//! but zero. Addition is exclusive or; other operations use tables computed at compile time.

const POLYNOMIAL: u16 = 0x11D;
/// Number of elements other than zero; alpha to this power is 1.
pub(super) const ORDER: u16 = 255;

/// alpha^e for every exponent of 16 bits, so that a sum of a logarithm and a product of two exponents below 255
/// (at most 254 + 254 * 254) needs no reduction.
static POWERS: [u8; 1 << 16] = powers();
/// Exponent of each element; zero has none, and its entry is never read.
static LOGARITHMS: [u8; 256] = logarithms();
/// Every product. A row is multiplication by one element.
static PRODUCTS: [[u8; 256]; 256] = products();

/// Returns alpha^`exponent`.
pub(super) fn power(exponent: u16) -> u8 {
    POWERS[usize::from(exponent)]
}

/// Returns the exponent of an element other than zero, 0 to 254.
pub(super) fn logarithm(element: u8) -> u16 {
    u16::from(LOGARITHMS[usize::from(element)])
}

/// Returns the product of two elements.
pub(super) fn multiply(a: u8, b: u8) -> u8 {
    PRODUCTS[usize::from(a)][usize::from(b)]
}

/// Returns 1 / `element`, which is not zero.
pub(super) fn inverse(element: u8) -> u8 {
    power(ORDER - logarithm(element))
}

/// Adds `factor` times each byte of `from` to the byte of `to` at its place; the rest of the longer slice is ignored.
pub(super) fn add_scaled(to: &mut [u8], factor: u8, from: &[u8]) {
    let row = &PRODUCTS[usize::from(factor)];
    for (to, from) in to.iter_mut().zip(from) {
        *to ^= row[usize::from(*from)];
    }
}

/// A polynomial in its non-zero terms, for evaluation at powers of alpha.
pub(super) struct Sparse {
    /// Degree and logarithm of the coefficient.
    terms: [(u16, u16); 256],
    count: usize,
}

impl Sparse {
    /// Creates a polynomial from pairs of a degree below 255 and its coefficient; the first 256 count.
    pub(super) fn new(coefficients: impl Iterator<Item = (usize, u8)>) -> Sparse {
        let mut sparse = Sparse {
            terms: [(0, 0); 256],
            count: 0,
        };
        let terms = coefficients.filter(|(_, coefficient)| *coefficient != 0);
        for (slot, (degree, coefficient)) in sparse.terms.iter_mut().zip(terms) {
            *slot = (degree as u16, logarithm(coefficient));
            sparse.count += 1;
        }
        sparse
    }

    /// Returns the value at alpha^`exponent`, 0 to 254.
    pub(super) fn at_power(&self, exponent: u16) -> u8 {
        let terms = self.terms[..self.count].iter();
        terms.fold(0, |sum, (degree, logarithm)| {
            sum ^ power(logarithm.wrapping_add(degree.wrapping_mul(exponent)))
        })
    }
}

const fn powers() -> [u8; 1 << 16] {
    let mut table = [0; 1 << 16];
    let mut element = 1_u16;
    let mut exponent = 0;
    while exponent < table.len() {
        table[exponent] = element as u8;
        element <<= 1;
        if element > 0xFF {
            element ^= POLYNOMIAL;
        }
        exponent += 1;
    }
    table
}

const fn logarithms() -> [u8; 256] {
    let mut table = [0; 256];
    let mut exponent = 0;
    while exponent < ORDER {
        table[POWERS[exponent as usize] as usize] = exponent as u8;
        exponent += 1;
    }
    table
}

const fn products() -> [[u8; 256]; 256] {
    let mut table = [[0; 256]; 256];
    let mut a = 1;
    while a < 256 {
        let mut b = 1;
        while b < 256 {
            table[a][b] = POWERS[LOGARITHMS[a] as usize + LOGARITHMS[b] as usize];
            b += 1;
        }
        a += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Multiplies by the definition: polynomials over GF(2), reduced by 0x11D.
    fn by_definition(a: u8, b: u8) -> u8 {
        let mut product = (0..8)
            .filter(|bit| b >> bit & 1 == 1)
            .fold(0_u16, |sum, bit| sum ^ u16::from(a) << bit);
        for bit in (8..16).rev() {
            if product >> bit & 1 == 1 {
                product ^= 0x11D << (bit - 8);
            }
        }
        product as u8
    }

    #[test]
    fn products_and_inverses_are_those_of_the_definition() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(multiply(a, b), by_definition(a, b), "{a} * {b}");
            }
            if a != 0 {
                assert_eq!(by_definition(a, inverse(a)), 1, "1 / {a}");
            }
        }
    }

    #[test]
    fn polynomials_are_evaluated_as_written() {
        // 3 + 7 x^2 + x^254 at alpha^9, by powers of the definition.
        let alpha_9 = (0..9).fold(1, |value, _| by_definition(value, 2));
        let to_the = |degree| (0..degree).fold(1, |value, _| by_definition(value, alpha_9));
        let expected = 3 ^ by_definition(7, to_the(2)) ^ to_the(254);
        let sparse = Sparse::new([(0, 3), (1, 0), (2, 7), (254, 1)].into_iter());
        assert_eq!(sparse.at_power(9), expected);
    }
}
