//! How long to wait before the next attempt to connect.

use std::time::Duration;

use rustix::rand::{GetRandomFlags, getrandom};

/// The first pause: a server that is started anew is there in a moment.
const FIRST: Duration = Duration::from_millis(20);

/// The longest. An attempt on this machine costs next to nothing, and nobody should wait long for a server that is back.
const LONGEST: Duration = Duration::from_secs(1);

/// The pause after so many attempts in a row that failed, the first being 0: doubled each time, and shortened at random
/// by up to half, so that those who lost their server together do not come back together.
pub(super) fn pause(failed: u32) -> Duration {
    jittered(failed, draw())
}

fn jittered(failed: u32, drawn: u32) -> Duration {
    let whole = FIRST.saturating_mul(2_u32.saturating_pow(failed)).min(LONGEST);
    whole - (whole / 2).mul_f64(f64::from(drawn) / f64::from(u32::MAX))
}

fn draw() -> u32 {
    let mut bytes = [0; 4];
    // Without randomness there is no jitter; a connection comes all the same.
    let _ = getrandom(&mut bytes, GetRandomFlags::INSECURE);
    u32::from_ne_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_from_20_ms_to_1_s_and_are_shortened_by_half_at_most() {
        let ms = |failed, drawn| jittered(failed, drawn).as_millis();
        let longest = [20, 40, 80, 160, 320, 640, 1000, 1000];
        for (failed, longest) in (0..).zip(longest) {
            assert_eq!(ms(failed, 0), longest);
            assert_eq!(ms(failed, u32::MAX), longest / 2);
        }
        assert_eq!(ms(u32::MAX, 0), 1000);
        assert_eq!(ms(1, u32::MAX / 2), 30);
    }
}
