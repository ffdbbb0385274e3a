//! Prepares pictures for a model: detects the format by the bytes, and shrinks large ones.
//!
//! A picture within the limits keeps its bytes. Every picture is decoded as a check, under limits
//! that stop a decompression bomb.

use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{
    DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, ImageResult, Limits, Rgb,
    RgbImage,
};

/// The longest side a model is sent, in pixels.
const MAX_SIDE: u32 = 2000;
/// The limit for a picture in bytes; in base64 that is 5 MiB.
const MAX_BYTES: usize = 3_932_160;
/// The longest side that is decoded at all.
const MAX_DECODED_SIDE: u32 = 20_000;
/// The memory limit for decoding.
const MAX_DECODED_BYTES: u64 = 512 * 1024 * 1024;
const JPEG_QUALITY: u8 = 85;

/// A kind of picture that models take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl Format {
    /// Its media type.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    fn decoder(self) -> ImageFormat {
        match self {
            Self::Png => ImageFormat::Png,
            Self::Jpeg => ImageFormat::Jpeg,
            Self::Gif => ImageFormat::Gif,
            Self::Webp => ImageFormat::WebP,
        }
    }
}

/// A picture as a model is sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    /// The media type of `data_base64`, which need not be the file's.
    pub(crate) media_type: &'static str,
    /// The bytes in base64.
    pub(crate) data_base64: String,
    /// The file's own width in pixels.
    pub(crate) width: u32,
    /// The file's own height in pixels.
    pub(crate) height: u32,
    /// The width and height of what is sent, where that is not the file's own bytes.
    pub(crate) resized: Option<(u32, u32)>,
}

/// Why a picture cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PictureError {
    #[error("the {format} picture is broken ({reason}); check that the file is complete")]
    Broken { format: &'static str, reason: String },
    #[error(
        "the picture is too large to decode: at most {MAX_DECODED_SIDE} pixels per side and \
         512 MiB of pixels; scale it down with an image tool first"
    )]
    TooLarge,
}

/// The format of a picture by its first bytes, not by its name.
pub(crate) fn sniff(bytes: &[u8]) -> Option<Format> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Format::Png),
        [0xff, 0xd8, 0xff, ..] => Some(Format::Jpeg),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Format::Gif),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Format::Webp),
        _ => None,
    }
}

/// Prepares a picture for a model.
pub(crate) fn prepare(bytes: &[u8], format: Format) -> Result<Picture, PictureError> {
    let broken = |reason: String| PictureError::Broken { format: format.media_type(), reason };
    let explain = |error: ImageError| match error {
        ImageError::Limits(_) => PictureError::TooLarge,
        other => broken(other.to_string()),
    };
    let (width, height) = reader(bytes, format).into_dimensions().map_err(explain)?;
    if width == 0 || height == 0 {
        return Err(broken("it has no pixels".to_owned()));
    }
    // Decoded even where its bytes are sent as they are: a broken one would fail at the model.
    let image = decode(bytes, format).map_err(explain)?;
    if width.max(height) <= MAX_SIDE && bytes.len() <= MAX_BYTES {
        let media_type = format.media_type();
        let data_base64 = STANDARD.encode(bytes);
        return Ok(Picture { media_type, data_base64, width, height, resized: None });
    }
    let image = fit(image, MAX_SIDE);
    let (image, format, data) = encode(image, MAX_BYTES).map_err(explain)?;
    Ok(Picture {
        media_type: format.media_type(),
        data_base64: STANDARD.encode(data),
        width,
        height,
        resized: Some((image.width(), image.height())),
    })
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_DECODED_SIDE);
    limits.max_image_height = Some(MAX_DECODED_SIDE);
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    limits
}

fn reader(bytes: &[u8], format: Format) -> ImageReader<Cursor<&[u8]>> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format.decoder());
    reader.limits(limits());
    reader
}

/// Decodes the (first) picture, upright: re-encoding loses the note that a camera was turned.
fn decode(bytes: &[u8], format: Format) -> ImageResult<DynamicImage> {
    let mut decoder = reader(bytes, format).into_decoder()?;
    // `from_decoder` takes no limits, so the pixels are accounted for here.
    let mut limits = limits();
    limits.reserve(decoder.total_bytes())?;
    decoder.set_limits(limits)?;
    let orientation = decoder.orientation()?;
    let mut image = DynamicImage::from_decoder(decoder)?;
    image.apply_orientation(orientation);
    Ok(image)
}

/// Shrinks a picture until no side is longer than `side`.
fn fit(mut image: DynamicImage, side: u32) -> DynamicImage {
    // The fast method takes off most of a huge picture, the good one what is left.
    if image.width().max(image.height()) > 2 * side {
        image = image.thumbnail(2 * side, 2 * side);
    }
    if image.width().max(image.height()) > side {
        image = image.resize(side, side, FilterType::Triangle);
    }
    image
}

/// Encodes a picture in at most `cap` bytes, at the price of quality and then of size.
fn encode(image: DynamicImage, cap: usize) -> ImageResult<(DynamicImage, Format, Vec<u8>)> {
    let image = if image.color().has_alpha() {
        DynamicImage::from(image.into_rgba8())
    } else {
        DynamicImage::from(image.into_rgb8())
    };
    let mut png = Vec::new();
    image.write_to(&mut Cursor::new(&mut png), ImageFormat::Png)?;
    if png.len() <= cap {
        return Ok((image, Format::Png, png));
    }
    let mut image = DynamicImage::from(on_white(image));
    loop {
        let mut jpeg = Vec::new();
        JpegEncoder::new_with_quality(&mut jpeg, JPEG_QUALITY).encode_image(&image)?;
        let side = image.width().max(image.height());
        if jpeg.len() <= cap || side == 1 {
            return Ok((image, Format::Jpeg, jpeg));
        }
        image = fit(image, side * 3 / 4);
    }
}

/// JPEG has no transparency; black drawings on nothing must not become black on black.
fn on_white(image: DynamicImage) -> RgbImage {
    let rgba = image.into_rgba8();
    RgbImage::from_fn(rgba.width(), rgba.height(), |x, y| {
        let [r, g, b, alpha] = rgba.get_pixel(x, y).0.map(u16::from);
        let over = |channel| ((channel * alpha + 255 * (255 - alpha)) / 255) as u8;
        Rgb([over(r), over(g), over(b)])
    })
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use image::RgbaImage;
    use proptest::prelude::*;

    use super::*;

    const FORMATS: [Format; 4] = [Format::Png, Format::Jpeg, Format::Gif, Format::Webp];

    fn file(width: u32, height: u32, format: Format) -> Vec<u8> {
        let image = RgbImage::from_fn(width, height, |x, y| Rgb([x as u8, y as u8, 90]));
        let mut bytes = Vec::new();
        image.write_to(&mut Cursor::new(&mut bytes), format.decoder()).unwrap();
        bytes
    }

    /// Pixels that no encoder can compress.
    fn noise(width: u32, height: u32) -> DynamicImage {
        let mut state = 1u32;
        DynamicImage::from(RgbaImage::from_fn(width, height, |_, _| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            image::Rgba(state.to_le_bytes())
        }))
    }

    fn decoded(picture: &Picture) -> DynamicImage {
        let bytes = STANDARD.decode(&picture.data_base64).unwrap();
        assert!(bytes.len() <= MAX_BYTES);
        let format = sniff(&bytes).unwrap();
        assert_eq!(format.media_type(), picture.media_type);
        decode(&bytes, format).unwrap()
    }

    #[test]
    fn formats_are_known_by_their_bytes() {
        for format in FORMATS {
            assert_eq!(sniff(&file(3, 2, format)), Some(format));
        }
        for other in [&b""[..], b"\x89PNG", b"GIF90a", b"RIFF\0\0\0\0WAVE", b"BM", b"%PDF-1.7"] {
            assert_eq!(sniff(other), None);
        }
    }

    #[test]
    fn a_picture_within_the_limits_keeps_its_bytes() {
        for format in FORMATS {
            let bytes = file(MAX_SIDE, 1, format);
            let picture = prepare(&bytes, format).unwrap();
            assert_eq!(picture.media_type, format.media_type());
            assert_eq!((picture.width, picture.height, picture.resized), (MAX_SIDE, 1, None));
            assert_eq!(STANDARD.decode(picture.data_base64).unwrap(), bytes);
        }
    }

    #[test]
    fn a_large_picture_is_shrunk_in_proportion() {
        for format in FORMATS {
            let picture = prepare(&file(2500, 25, format), format).unwrap();
            assert_eq!((picture.width, picture.height), (2500, 25));
            assert_eq!((picture.media_type, picture.resized), ("image/png", Some((2000, 20))));
            let shown = decoded(&picture);
            assert_eq!((shown.width(), shown.height()), (2000, 20));
        }
        let thin = prepare(&file(1, 9000, Format::Png), Format::Png).unwrap();
        assert_eq!(thin.resized, Some((1, 2000)));
    }

    #[test]
    fn a_heavy_picture_is_encoded_anew() {
        let mut bytes = file(30, 20, Format::Png);
        bytes.resize(MAX_BYTES + 1, 0);
        let picture = prepare(&bytes, Format::Png).unwrap();
        assert_eq!((picture.media_type, picture.resized), ("image/png", Some((30, 20))));
        assert_eq!(decoded(&picture).into_rgb8().get_pixel(29, 19).0, [29, 19, 90]);
    }

    #[test]
    fn what_no_png_can_hold_becomes_a_jpeg_and_then_smaller() {
        let (image, format, bytes) = encode(noise(200, 100), 40_000).unwrap();
        assert_eq!((format, image.width()), (Format::Jpeg, 200));
        assert!(bytes.len() <= 40_000);
        let (image, format, bytes) = encode(noise(200, 100), 4000).unwrap();
        assert_eq!(format, Format::Jpeg);
        assert!(bytes.len() <= 4000 && image.width() < 200);
    }

    #[test]
    fn transparency_becomes_white() {
        let clear = DynamicImage::from(RgbaImage::from_pixel(1, 1, image::Rgba([0, 0, 0, 0])));
        assert_eq!(on_white(clear).get_pixel(0, 0).0, [255; 3]);
    }

    #[test]
    fn broken_pictures_and_bombs_are_refused() {
        for format in FORMATS {
            let error = prepare(&file(2001, 2, format)[..20], format).unwrap_err();
            assert!(matches!(error, PictureError::Broken { .. }), "{format:?}: {error}");
        }
        let mut gif = file(2, 2, Format::Gif);
        // The size of a GIF's screen: too long a side, too many pixels, none.
        gif[6..10].copy_from_slice(&[0xff, 0xff, 1, 0]);
        assert_eq!(prepare(&gif, Format::Gif), Err(PictureError::TooLarge));
        gif[6..10].copy_from_slice(&[0x20, 0x4e, 0x20, 0x4e]);
        assert_eq!(prepare(&gif, Format::Gif), Err(PictureError::TooLarge));
        gif[6..10].copy_from_slice(&[0, 0, 2, 0]);
        let error = prepare(&gif, Format::Gif).unwrap_err();
        assert!(error.to_string().contains("no pixels"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn no_bytes_make_it_panic(
            which in 0usize..4,
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            kept in any::<prop::sample::Index>(),
            cut in any::<bool>(),
        ) {
            // Just too large, so that it is decoded.
            static FILES: LazyLock<[Vec<u8>; 4]> =
                LazyLock::new(|| FORMATS.map(|format| file(2001, 3, format)));
            let mut bytes = FILES[which].clone();
            for (at, byte) in changes {
                *at.get_mut(&mut bytes) = byte;
            }
            if cut {
                bytes.truncate(kept.index(bytes.len()));
            }
            sniff(&bytes);
            for format in FORMATS {
                let _ = prepare(&bytes, format);
            }
        }
    }
}
