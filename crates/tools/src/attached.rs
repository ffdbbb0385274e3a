//! Pictures and documents attached to a prompt, prepared for a model as Read does it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ona_types::Attachment;

use crate::picture;
use crate::read::MAX_ATTACHMENT;

/// Why something cannot be attached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttachError {
    /// It is not in base64.
    #[error("its data is not base64: {0}")]
    NotBase64(String),
    /// It is not a picture in a supported format.
    #[error("its data is not a PNG, JPEG, GIF or WebP picture")]
    NoPicture,
    /// It is one, but cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// It is not a PDF.
    #[error("its data is not a PDF, the only document type accepted in base64")]
    NoPdf,
    /// It is larger than the limit.
    #[error("it has {0} bytes; the limit for a document is {MAX_ATTACHMENT}")]
    TooLarge(usize),
}

/// A picture in base64: what its bytes say it is, and shrunk where it is too big.
pub fn attach_picture(data: &str) -> Result<Attachment, AttachError> {
    attach_picture_bytes(&decoded(data)?)
}

/// The same of its bytes.
pub fn attach_picture_bytes(bytes: &[u8]) -> Result<Attachment, AttachError> {
    let format = picture::sniff(bytes).ok_or(AttachError::NoPicture)?;
    let picture = picture::prepare(bytes, format)
        .map_err(|error| AttachError::Unusable(error.to_string()))?;
    let media_type = picture.media_type.to_owned();
    Ok(Attachment::Image { media_type, data: picture.data_base64 })
}

/// A PDF in base64.
pub fn attach_pdf(data: &str) -> Result<Attachment, AttachError> {
    let bytes = decoded(data)?;
    if !bytes.starts_with(b"%PDF-") {
        return Err(AttachError::NoPdf);
    }
    if bytes.len() > MAX_ATTACHMENT {
        return Err(AttachError::TooLarge(bytes.len()));
    }
    let media_type = "application/pdf".to_owned();
    Ok(Attachment::Document { media_type, data: STANDARD.encode(bytes) })
}

/// Some encoders break lines.
fn decoded(data: &str) -> Result<Vec<u8>, AttachError> {
    let data: String = data.split_whitespace().collect();
    STANDARD.decode(data).map_err(|error| AttachError::NotBase64(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_meant_is_refused() {
        let of = |bytes: &[u8]| STANDARD.encode(bytes);
        assert!(matches!(attach_picture("%"), Err(AttachError::NotBase64(_))));
        assert_eq!(attach_picture(""), Err(AttachError::NoPicture));
        assert_eq!(attach_picture(&of(b"%PDF-1.7")), Err(AttachError::NoPicture));
        let broken = attach_picture(&of(b"GIF89a"));
        assert!(matches!(broken, Err(AttachError::Unusable(_))), "{broken:?}");
        assert_eq!(attach_pdf(&of(b"GIF89a")), Err(AttachError::NoPdf));
        let mut large = b"%PDF-".to_vec();
        large.resize(MAX_ATTACHMENT + 1, 0);
        assert_eq!(attach_pdf(&of(&large)), Err(AttachError::TooLarge(MAX_ATTACHMENT + 1)));
        large.truncate(10);
        let (media_type, data) = ("application/pdf".to_owned(), of(&large));
        assert_eq!(attach_pdf(&data), Ok(Attachment::Document { media_type, data }));
    }
}
