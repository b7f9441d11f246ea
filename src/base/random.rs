//! The system's randomness.

use std::io;

use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

/// Fills `bytes` with random ones that cannot be foreseen. Asks the kernel itself: a program that
/// is linked static finds no `getrandom` by its name, and would open `/dev/random` and
/// `/dev/urandom` instead.
///
/// # Errors
/// An error of the kernel; the content of `bytes` is then of no use.
pub(crate) fn fill(bytes: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
            // Up to 256 bytes come in one piece; more may be cut short by a signal.
            Ok(got) => filled += got,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn every_byte_is_filled_and_no_two_fillings_are_alike() {
        for length in [0, 1, 32, 4096] {
            let fillings: Vec<Vec<u8>> = (0..64)
                .map(|_| {
                    let mut bytes = vec![0; length];
                    fill(&mut bytes).unwrap();
                    bytes
                })
                .collect();
            for at in 0..length {
                assert!(fillings.iter().any(|bytes| bytes[at] != 0), "byte {at} of {length}");
            }
            if length >= 32 {
                let mut seen = std::collections::HashSet::new();
                assert!(fillings.iter().all(|bytes| seen.insert(bytes)), "{length}");
            }
        }
    }
}
