//! Closed sets of words in the file formats.

/// An enum whose variants are words of a file format. A word that is not in the set reads as an error, and
/// as none where [`lenient`] is used, so that a foreign record loses one field and not its line.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
        )]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// All of them, in the order of the source document.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The word in the files.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The variant with this word.
            pub fn from_name(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::words::FromWord for $name {
            fn from_word(word: &str) -> Option<Self> {
                Self::from_name(word)
            }
        }
    };
}
pub(crate) use words;

/// What [`lenient`] needs of a set of words.
pub(crate) trait FromWord: Sized {
    fn from_word(word: &str) -> Option<Self>;
}

/// Reads a word of the set, and anything else as none.
pub(crate) fn lenient<'de, D: serde::Deserializer<'de>, T: FromWord>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let value = <serde_json::Value as serde::Deserialize>::deserialize(deserializer)?;
    Ok(value.as_str().and_then(T::from_word))
}
