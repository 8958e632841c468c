//! Bodies that a server sends gzipped (RFC 1952), unpacked as they arrive.
#![forbid(unsafe_code)]

use std::io::{Error, Write};

use flate2::write::MultiGzDecoder;

/// What is unpacked at a time, so that a small body that unpacks to a huge one needs no more memory than any other.
const CHUNK: usize = 64 * 1024;

/// The decoder of one body.
#[derive(Debug)]
pub struct Gzip {
    decoder: MultiGzDecoder<Vec<u8>>,
    begun: bool,
}

impl Default for Gzip {
    fn default() -> Self {
        Gzip::new()
    }
}

impl Gzip {
    pub fn new() -> Gzip {
        Gzip { decoder: MultiGzDecoder::new(Vec::new()), begun: false }
    }

    /// Takes the next bytes of the body and hands over all that they unpack to, at most 64 KiB at a time. After an error
    /// the body is of no more use.
    pub fn feed(&mut self, mut bytes: &[u8], out: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        while !bytes.is_empty() {
            self.begun = true;
            // One write unpacks one buffer of the decoder's, however much it is given.
            match self.decoder.write(bytes) {
                Ok(0) => return Err("the gzipped body is damaged: it goes on behind its end".to_owned()),
                Ok(taken) => bytes = bytes.get(taken..).unwrap_or_default(),
                Err(error) => return Err(damaged(error)),
            }
            self.hand_over(out);
        }
        // An event that has come is due now, not when the next one comes.
        self.decoder.flush().map_err(damaged)?;
        self.hand_over(out);
        Ok(())
    }

    /// The body has ended: an error if more of it is missing. A body without a byte is empty, whatever its headers say.
    pub fn finish(&mut self) -> Result<(), String> {
        if !self.begun {
            return Ok(());
        }
        self.decoder.try_finish().map_err(|error| format!("the gzipped body ends too early, or is damaged: {error}"))
    }

    fn hand_over(&mut self, out: &mut dyn FnMut(&[u8])) {
        let unpacked = self.decoder.get_mut();
        unpacked.chunks(CHUNK).for_each(out);
        unpacked.clear();
    }
}

fn damaged(error: Error) -> String {
    format!("the gzipped body is damaged: {error}")
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzipped(data: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn unpacked(bytes: &[u8], most: usize) -> Result<Vec<u8>, String> {
        let (mut gzip, mut data) = (Gzip::new(), Vec::new());
        for piece in bytes.chunks(most) {
            gzip.feed(piece, &mut |chunk| {
                assert!(!chunk.is_empty() && chunk.len() <= CHUNK);
                data.extend_from_slice(chunk);
            })?;
        }
        gzip.finish().map(|()| data)
    }

    /// Compresses neither to nothing nor not at all.
    fn text() -> Vec<u8> {
        (0..40_000u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_string().into_bytes()).collect()
    }

    #[test]
    fn a_body_in_any_pieces_and_of_several_members() {
        let text = text();
        let mut bytes = gzipped(&text);
        for most in [1, 7, 4096, usize::MAX] {
            assert!(unpacked(&bytes, most).unwrap() == text, "{most}");
        }
        bytes.extend(gzipped(b""));
        bytes.extend(gzipped(b"second"));
        for most in [1, 7, 4096, usize::MAX] {
            assert!(unpacked(&bytes, most).unwrap() == [&text, &b"second"[..]].concat(), "{most}");
        }
        assert_eq!(unpacked(&gzipped(b""), 1).unwrap(), b"");
        assert_eq!(unpacked(b"", 1).unwrap(), b"");
    }

    #[test]
    fn what_is_cut_or_damaged_is_an_error() {
        let bytes = gzipped(&text()[..500]);
        for end in 1..bytes.len() {
            let error = unpacked(&bytes[..end], usize::MAX).unwrap_err();
            assert!(error.contains("ends too early"), "{end}: {error}");
        }
        for at in (0..3).chain(bytes.len() - 8..bytes.len()) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(unpacked(&damaged, 7).is_err(), "{at}");
        }
        assert!(unpacked(b"{\"jsonrpc\":\"2.0\"}", usize::MAX).is_err());
        let behind = [&bytes[..], b"more"].concat();
        assert!(unpacked(&behind, usize::MAX).is_err());
    }

    #[test]
    fn a_bomb_is_handed_over_in_chunks() {
        let bytes = gzipped(&vec![b' '; 8 * 1024 * 1024]);
        assert!(bytes.len() < 16 * 1024);
        let (mut gzip, mut length) = (Gzip::new(), 0);
        gzip.feed(&bytes, &mut |chunk| length += chunk.len()).unwrap();
        gzip.finish().unwrap();
        assert_eq!(length, 8 * 1024 * 1024);
        assert!(gzip.decoder.get_ref().capacity() <= 2 * CHUNK);
    }

    #[test]
    fn what_was_flushed_comes_out_at_once() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let (mut gzip, mut data) = (Gzip::new(), Vec::new());
        for event in ["data: one\n\n", "data: two\n\n", "data: three\n\n"] {
            encoder.write_all(event.as_bytes()).unwrap();
            encoder.flush().unwrap();
            gzip.feed(&std::mem::take(encoder.get_mut()), &mut |chunk| data.extend_from_slice(chunk)).unwrap();
            assert_eq!(std::mem::take(&mut data), event.as_bytes());
        }
    }
}
