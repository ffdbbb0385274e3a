//! Colours in as many colours as a terminal has.

use ratatui::style::Color;

/// How many colours a terminal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Depth {
    /// None, because it has none or the user wants none. Bold, dim, italic, underlined and reversed text remain.
    None,
    /// The 16 that every terminal names, and the user chooses.
    Ansi16,
    /// The 256 of xterm.
    Ansi256,
    /// All.
    True,
}

/// The steps of the colour cube of xterm.
const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
/// Less difference between the channels is no colour, but a grey.
const GREY_CHROMA: u8 = 40;
/// From here on a colour of the 256 keeps its tint, if that is strong for its brightness.
const TINT_CHROMA: u8 = 16;
/// The greys of the 16 colours, with the brightness up to which they stand for others.
const GREYS: [(u8, Color); 4] =
    [(40, Color::Black), (140, Color::DarkGray), (215, Color::Gray), (255, Color::White)];
/// The colours of the 16, with the hue in degrees up to which they stand for others, and the bright one of each.
const HUES: [(u16, Color, Color); 7] = [
    (14, Color::Red, Color::LightRed),
    (70, Color::Yellow, Color::LightYellow),
    (160, Color::Green, Color::LightGreen),
    (200, Color::Cyan, Color::LightCyan),
    (260, Color::Blue, Color::LightBlue),
    (335, Color::Magenta, Color::LightMagenta),
    (360, Color::Red, Color::LightRed),
];
/// From here on a colour is a bright one.
const BRIGHT: u8 = 190;
/// What the first 16 numbers of xterm name.
const NAMED: [Color; 16] = [
    Color::Black,
    Color::Red,
    Color::Green,
    Color::Yellow,
    Color::Blue,
    Color::Magenta,
    Color::Cyan,
    Color::Gray,
    Color::DarkGray,
    Color::LightRed,
    Color::LightGreen,
    Color::LightYellow,
    Color::LightBlue,
    Color::LightMagenta,
    Color::LightCyan,
    Color::White,
];

/// The nearest colour that a terminal has. Colours with a name are the terminal's own, and stay.
pub fn downgrade(colour: Color, depth: Depth) -> Option<Color> {
    match (depth, colour) {
        (Depth::None, _) => None,
        (Depth::Ansi256, Color::Rgb(r, g, b)) => Some(Color::Indexed(nearest_index([r, g, b]))),
        (Depth::Ansi16, Color::Rgb(r, g, b)) => Some(nearest_name([r, g, b])),
        (Depth::Ansi16, Color::Indexed(index)) => Some(match NAMED.get(usize::from(index)) {
            Some(named) => *named,
            None => nearest_name(channels(index)),
        }),
        (_, colour) => Some(colour),
    }
}

/// The nearest colour of xterm's cube or of its greys.
fn nearest_index(rgb: [u8; 3]) -> u8 {
    let tint = tint(rgb);
    let keeps_tint = |index: &u8| match tint {
        Some((most, least)) => channels(*index)[most] > channels(*index)[least],
        None => true,
    };
    (16_u8..=255)
        .filter(keeps_tint)
        .min_by_key(|index| distance(rgb, channels(*index)))
        .unwrap_or(16)
}

/// The strongest and the weakest channel of a colour other than a grey.
///
/// The dark and the pale backgrounds of a diff would be nearest to a grey. Their tint is what they are for.
fn tint(rgb: [u8; 3]) -> Option<(usize, usize)> {
    let most = (0..3).max_by_key(|channel| rgb[*channel])?;
    let least = (0..3).min_by_key(|channel| rgb[*channel])?;
    let (sum, chroma) = (u16::from(rgb[most]) + u16::from(rgb[least]), rgb[most] - rgb[least]);
    // The most that the channels of a colour of this brightness can differ.
    let possible = sum.min(510 - sum);
    (chroma >= TINT_CHROMA && 10 * u16::from(chroma) >= 3 * possible).then_some((most, least))
}

/// The channels of a colour of xterm's cube, or of its greys.
fn channels(index: u8) -> [u8; 3] {
    match index {
        232.. => [8 + 10 * (index - 232); 3],
        _ => {
            let cube = usize::from(index.saturating_sub(16));
            [STEPS[cube / 36], STEPS[cube / 6 % 6], STEPS[cube % 6]]
        }
    }
}

fn distance(one: [u8; 3], other: [u8; 3]) -> u32 {
    one.iter().zip(other).map(|(one, other)| u32::from(one.abs_diff(other)).pow(2)).sum()
}

/// The name of the nearest of the 16 colours: by its hue, since the user chooses what they are exactly.
fn nearest_name([r, g, b]: [u8; 3]) -> Color {
    let (most, least) = (r.max(g).max(b), r.min(g).min(b));
    let chroma = most - least;
    if chroma < GREY_CHROMA {
        return GREYS.iter().find(|(up_to, _)| most <= *up_to).map_or(Color::White, |grey| grey.1);
    }
    let hue = hue([r, g, b], most, chroma);
    let named = HUES.iter().find(|(up_to, ..)| hue <= *up_to);
    named.map_or(Color::White, |(_, dark, bright)| if most >= BRIGHT { *bright } else { *dark })
}

/// The hue in degrees.
fn hue([r, g, b]: [u8; 3], most: u8, chroma: u8) -> u16 {
    let [r, g, b, chroma] = [r, g, b, chroma].map(i32::from);
    let most = i32::from(most);
    let degrees = match most {
        most if most == r => 60 * (g - b) / chroma,
        most if most == g => 120 + 60 * (b - r) / chroma,
        _ => 240 + 60 * (r - g) / chroma,
    };
    u16::try_from(degrees.rem_euclid(360)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_nearest_of_256() {
        for (rgb, index) in [
            ((0, 0, 0), 16),
            ((255, 255, 255), 231),
            ((255, 0, 0), 196),
            ((95, 135, 175), 67),
            ((128, 128, 128), 244),
            ((8, 8, 8), 232),
            ((30, 30, 38), 234),
            ((22, 48, 28), 22),
            ((253, 230, 230), 224),
        ] {
            let colour = Color::Rgb(rgb.0, rgb.1, rgb.2);
            assert_eq!(downgrade(colour, Depth::Ansi256), Some(Color::Indexed(index)), "{rgb:?}");
        }
    }

    #[test]
    fn the_nearest_of_16() {
        for (rgb, named) in [
            ((0, 0, 0), Color::Black),
            ((110, 110, 110), Color::DarkGray),
            ((255, 255, 255), Color::White),
            ((170, 0, 0), Color::Red),
            ((255, 80, 80), Color::LightRed),
            ((255, 158, 60), Color::LightYellow),
            ((0, 110, 30), Color::Green),
            ((90, 160, 255), Color::LightBlue),
            ((0, 130, 140), Color::Cyan),
            ((150, 60, 170), Color::Magenta),
        ] {
            let colour = Color::Rgb(rgb.0, rgb.1, rgb.2);
            assert_eq!(downgrade(colour, Depth::Ansi16), Some(named), "{rgb:?}");
        }
        assert_eq!(downgrade(Color::Indexed(9), Depth::Ansi16), Some(Color::LightRed));
        assert_eq!(downgrade(Color::Indexed(196), Depth::Ansi16), Some(Color::LightRed));
    }

    #[test]
    fn what_has_a_name_stays() {
        for depth in [Depth::Ansi16, Depth::Ansi256, Depth::True] {
            assert_eq!(downgrade(Color::Cyan, depth), Some(Color::Cyan));
        }
        assert_eq!(downgrade(Color::Cyan, Depth::None), None);
    }

    proptest! {
        #[test]
        fn a_colour_of_the_256_is_its_own_nearest(index in 16_u8..=255) {
            let [r, g, b] = channels(index);
            let Some(Color::Indexed(nearest)) = downgrade(Color::Rgb(r, g, b), Depth::Ansi256) else {
                panic!("not of the 256");
            };
            prop_assert_eq!(channels(nearest), [r, g, b]);
        }

        #[test]
        fn every_colour_has_a_nearest(r: u8, g: u8, b: u8, index: u8) {
            for depth in [Depth::Ansi16, Depth::Ansi256] {
                prop_assert!(downgrade(Color::Rgb(r, g, b), depth).is_some());
                prop_assert!(downgrade(Color::Indexed(index), depth).is_some());
            }
        }
    }
}
