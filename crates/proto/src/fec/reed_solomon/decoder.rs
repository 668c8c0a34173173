//! Decoding: syndromes, the Berlekamp–Massey algorithm starting from the erasures, a search for the locator's roots
//! (Chien), and Forney's formula. R. E. Blahut, Theory and Practice of Error Control Codes, chapters 7 and 9.
//!
//! The byte at position p of n is the coefficient of x^(n-1-p); an error there has the locator alpha^(n-1-p).

use super::{Code, LONGEST_CODEWORD};
use crate::fec::FecError;
use crate::fec::field::{ORDER, Sparse, add_scaled, inverse, multiply, power};

/// Coefficients of a polynomial, lowest first.
type Polynomial = [u8; 256];

impl Code {
    /// Corrects a codeword in place and returns the number of wrong bytes. `erasures` are positions, from 0, of
    /// untrusted bytes, in any order. It corrects e erasures and v errors elsewhere if 2 v + e is at most the number of
    /// parity bytes.
    ///
    /// # Errors
    /// Fails if there are more, as far as that is detectable, and leaves the codeword unchanged. It also fails if the
    /// codeword is shorter than its parity or longer than 255 bytes, or an erasure is outside it.
    pub fn decode(&self, codeword: &mut [u8], erasures: &[usize]) -> Result<usize, FecError> {
        self.check_length(codeword.len())?;
        let erased = Erased::new(erasures, codeword.len())?;
        if erased.count > self.parity() {
            return Err(FecError::Uncorrectable);
        }
        let (data, parity) = codeword.split_at(codeword.len() - self.parity());
        let mut remainder = self.remainder(data.iter().copied());
        add_scaled(&mut remainder, 1, parity);
        let remainder = &remainder[..self.parity()];
        if remainder.iter().all(|byte| *byte == 0) {
            return Ok(0);
        }
        let syndromes = syndromes(remainder);
        let (locator, degree) = locator(&syndromes[..self.parity()], &erased);
        if 2 * degree > self.parity() + erased.count || locator[degree] == 0 {
            return Err(FecError::Uncorrectable);
        }
        let places = places(&locator[..=degree], codeword.len())?;
        let places = &places[..degree];
        Ok(correct(codeword, &syndromes, &locator, places))
    }
}

/// Untrusted positions, each once.
struct Erased {
    places: [u8; LONGEST_CODEWORD],
    count: usize,
    /// Bytes in the codeword.
    length: usize,
}

impl Erased {
    fn new(erasures: &[usize], length: usize) -> Result<Erased, FecError> {
        let mut known = [false; LONGEST_CODEWORD];
        let mut erased = Erased {
            places: [0; LONGEST_CODEWORD],
            count: 0,
            length,
        };
        for &position in erasures {
            if position >= length {
                return Err(FecError::ErasureOutside { position, length });
            }
            if !core::mem::replace(&mut known[position], true) {
                erased.places[erased.count] = position as u8;
                erased.count += 1;
            }
        }
        Ok(erased)
    }

    /// Returns the product of (1 - X x) over the erasures' locators X.
    fn locator(&self) -> Polynomial {
        let mut product = [0; 256];
        product[0] = 1;
        for (degree, place) in self.places[..self.count].iter().enumerate() {
            let locator = power((self.length - 1 - usize::from(*place)) as u16);
            for at in (0..=degree).rev() {
                product[at + 1] ^= multiply(locator, product[at]);
            }
        }
        product
    }
}

/// Evaluates the received word at the generator's roots. It differs from the remainder by a codeword, which is zero
/// there.
fn syndromes(remainder: &[u8]) -> Polynomial {
    let lowest_first = remainder.iter().rev().copied().enumerate();
    let remainder_at = Sparse::new(lowest_first);
    let mut syndromes = [0; 256];
    for (root, syndrome) in syndromes[..remainder.len()].iter_mut().enumerate() {
        *syndrome = remainder_at.at_power(root as u16);
    }
    syndromes
}

/// Returns the shortest recurrence that generates the syndromes and has the erasures' locators among its roots, and its
/// degree.
fn locator(syndromes: &[u8], erased: &Erased) -> (Polynomial, usize) {
    let mut locator = erased.locator();
    let mut degree = erased.count;
    // The locator before the last change of degree, its degree, its discrepancy, and the steps since.
    let (mut before, mut before_degree, mut before_discrepancy, mut steps) =
        (locator, degree, 1, 1);
    for step in erased.count..syndromes.len() {
        let discrepancy = (syndromes[..=step].iter().rev())
            .zip(&locator[..=degree])
            .fold(0, |sum, (syndrome, coefficient)| {
                sum ^ multiply(*syndrome, *coefficient)
            });
        if discrepancy == 0 {
            steps += 1;
            continue;
        }
        let longer = 2 * degree <= step + erased.count;
        let present = locator;
        let factor = multiply(discrepancy, inverse(before_discrepancy));
        add_scaled(&mut locator[steps..], factor, &before[..=before_degree]);
        if longer {
            (before, before_degree, before_discrepancy) = (present, degree, discrepancy);
            degree = step + 1 + erased.count - degree;
            steps = 0;
        }
        steps += 1;
    }
    (locator, degree)
}

/// Returns the positions whose inverse locators are roots of `locator`; all its roots must be in the codeword.
fn places(locator: &[u8], length: usize) -> Result<[u8; LONGEST_CODEWORD], FecError> {
    let wanted = locator.len() - 1;
    let locator = Sparse::new(locator.iter().copied().enumerate());
    let mut places = [0; LONGEST_CODEWORD];
    let mut found = 0;
    for place in 0..length as u8 {
        if found == wanted {
            break;
        }
        if locator.at_power(inverse_exponent(length, place)) == 0 {
            places[found] = place;
            found += 1;
        }
    }
    if found < wanted {
        return Err(FecError::Uncorrectable);
    }
    Ok(places)
}

/// Returns the exponent of the inverse locator of a position.
fn inverse_exponent(length: usize, place: u8) -> u16 {
    (ORDER + 1 + u16::from(place) - length as u16) % ORDER
}

/// Adds the error to the byte at each position, the evaluator over the odd part of the locator, both at the position's
/// inverse locator: Forney's formula with a first root of alpha^0, where x times the derivative is the odd part.
/// Returns the number of errors that are not zero; erased bytes may have been right.
fn correct(
    codeword: &mut [u8],
    syndromes: &Polynomial,
    locator: &Polynomial,
    places: &[u8],
) -> usize {
    let evaluator = Sparse::new((0..places.len()).map(|degree| {
        let terms = locator[..=degree]
            .iter()
            .zip(syndromes[..=degree].iter().rev());
        (degree, terms.fold(0, |sum, (a, b)| sum ^ multiply(*a, *b)))
    }));
    let odd_degrees = locator[..=places.len()].iter().copied().enumerate();
    let odd_part = Sparse::new(odd_degrees.skip(1).step_by(2));
    let mut wrong = 0;
    for place in places {
        let exponent = inverse_exponent(codeword.len(), *place);
        let slope = odd_part.at_power(exponent);
        let error = multiply(evaluator.at_power(exponent), inverse(slope));
        codeword[usize::from(*place)] ^= error;
        wrong += usize::from(error != 0);
    }
    wrong
}
