//! The only way of a text into a row, and of a question to one: secrets in it are masked first.
//!
//! [`Connection`], [`Transaction`] and [`Statement`] stand in for those of `rusqlite` in this crate. Each text that is
//! bound to a statement passes [`Connection::masked`], in a query too: who looks for what was stored finds it. So a new
//! table or column needs no thought of its own. A test fails if another module uses those of `rusqlite`.
//!
//! What identifies is a [`Key`] and stays as it is: the secrets that are known differ from process to process, and what
//! one stored another must find.

#![allow(
    clippy::needless_pass_by_value,
    reason = "called as `rusqlite` is: `execute(sql, (a, b))`"
)]

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;

use ona_types::Mask;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{
    CachedStatement, MappedRows, OpenFlags, Result, Row, Rows, ToSql, TransactionBehavior,
    params_from_iter,
};

/// A connection that masks secrets.
#[derive(Debug)]
pub(crate) struct Connection {
    raw: rusqlite::Connection,
    mask: Option<Arc<dyn Mask>>,
}

impl Connection {
    pub(crate) fn open_with_flags(path: &Path, flags: OpenFlags) -> Result<Self> {
        Ok(Self { raw: rusqlite::Connection::open_with_flags(path, flags)?, mask: None })
    }

    pub(crate) fn open_in_memory() -> Result<Self> {
        Ok(Self { raw: rusqlite::Connection::open_in_memory()?, mask: None })
    }

    /// From now on, this masks.
    pub(crate) fn mask_with(&mut self, mask: Arc<dyn Mask>) {
        self.mask = Some(mask);
    }

    /// The text as it is stored.
    pub(crate) fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.mask.as_ref().map_or(Cow::Borrowed(text), |mask| mask.for_storage(text))
    }

    fn bound<'v>(&self, values: &'v impl Values) -> Result<Vec<ToSqlOutput<'v>>> {
        let mut bound = Vec::new();
        for (mut value, is_key) in values.bound()? {
            if !is_key {
                self.mask_bound(&mut value);
            }
            bound.push(value);
        }
        Ok(bound)
    }

    /// A transaction for reading.
    pub(crate) fn snapshot(&self) -> Result<rusqlite::Transaction<'_>> {
        rusqlite::Transaction::new_unchecked(&self.raw, TransactionBehavior::Deferred)
    }

    fn mask_bound(&self, value: &mut ToSqlOutput<'_>) {
        let text = match &*value {
            ToSqlOutput::Borrowed(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => {
                String::from_utf8_lossy(bytes)
            }
            ToSqlOutput::Owned(Value::Text(text)) => Cow::Borrowed(text.as_str()),
            // A path that is not UTF-8.
            ToSqlOutput::Owned(Value::Blob(bytes)) => String::from_utf8_lossy(bytes),
            _ => return,
        };
        if let Cow::Owned(masked) = self.masked(&text) {
            *value = ToSqlOutput::Owned(Value::Text(masked));
        }
    }

    pub(crate) fn execute(&self, sql: &str, values: impl Values) -> Result<usize> {
        self.raw.execute(sql, params_from_iter(self.bound(&values)?))
    }

    pub(crate) fn query_row<T>(
        &self,
        sql: &str,
        values: impl Values,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.raw.query_row(sql, params_from_iter(self.bound(&values)?), read)
    }

    pub(crate) fn prepare(&self, sql: &str) -> Result<Prepared<'_>> {
        let raw = Box::new(self.raw.prepare(sql)?);
        Ok(Statement { raw, connection: self })
    }

    pub(crate) fn prepare_cached(&self, sql: &str) -> Result<Cached<'_>> {
        let raw = self.raw.prepare_cached(sql)?;
        Ok(Statement { raw, connection: self })
    }
}

/// What binds no text is used as it is.
impl Deref for Connection {
    type Target = rusqlite::Connection;

    fn deref(&self) -> &Self::Target {
        &self.raw
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.raw
    }
}

/// A transaction of such a connection.
#[derive(Debug)]
pub(crate) struct Transaction<'c> {
    raw: rusqlite::Transaction<'c>,
    connection: &'c Connection,
}

impl<'c> Transaction<'c> {
    /// `BEGIN IMMEDIATE`. "Unchecked" in `rusqlite`, because the store's lock, not the borrow checker, keeps it the only
    /// one.
    pub(crate) fn begin(connection: &'c Connection) -> Result<Self> {
        let raw =
            rusqlite::Transaction::new_unchecked(&connection.raw, TransactionBehavior::Immediate)?;
        Ok(Self { raw, connection })
    }

    pub(crate) fn commit(self) -> Result<()> {
        self.raw.commit()
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

/// A statement of such a connection.
pub(crate) struct Statement<'c, S> {
    raw: S,
    connection: &'c Connection,
}

type Prepared<'c> = Statement<'c, Box<rusqlite::Statement<'c>>>;
type Cached<'c> = Statement<'c, CachedStatement<'c>>;

impl<'c, S: DerefMut<Target = rusqlite::Statement<'c>>> Statement<'c, S> {
    pub(crate) fn execute(&mut self, values: impl Values) -> Result<usize> {
        self.raw.execute(params_from_iter(self.connection.bound(&values)?))
    }

    pub(crate) fn query(&mut self, values: impl Values) -> Result<Rows<'_>> {
        self.raw.query(params_from_iter(self.connection.bound(&values)?))
    }

    pub(crate) fn query_row<T>(
        &mut self,
        values: impl Values,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.raw.query_row(params_from_iter(self.connection.bound(&values)?), read)
    }

    pub(crate) fn query_map<T, F: FnMut(&Row<'_>) -> Result<T>>(
        &mut self,
        values: impl Values,
        read: F,
    ) -> Result<MappedRows<'_, F>> {
        self.raw.query_map(params_from_iter(self.connection.bound(&values)?), read)
    }
}

/// What identifies a row: an id, a directory, a name that ona made up. It is stored and looked up as it is. An id from
/// elsewhere is checked for secrets before it becomes one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key<'a>(pub(crate) &'a str);

/// The same, or `NULL`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaybeKey<'a>(pub(crate) Option<&'a str>);

/// A value that can be bound; whether it is a key.
pub(crate) trait Bind {
    fn bind(&self) -> Result<(ToSqlOutput<'_>, bool)>;
}

impl<T: ToSql> Bind for T {
    fn bind(&self) -> Result<(ToSqlOutput<'_>, bool)> {
        Ok((self.to_sql()?, false))
    }
}

impl Bind for Key<'_> {
    fn bind(&self) -> Result<(ToSqlOutput<'_>, bool)> {
        Ok((self.0.to_sql()?, true))
    }
}

impl Bind for MaybeKey<'_> {
    fn bind(&self) -> Result<(ToSqlOutput<'_>, bool)> {
        Ok((self.0.to_sql()?, true))
    }
}

/// The values of a statement's parameters, in order.
pub(crate) trait Values {
    fn bound(&self) -> Result<Vec<(ToSqlOutput<'_>, bool)>>;
}

/// So that `[]` has a type.
impl Values for [&(dyn ToSql + Send + Sync); 0] {
    fn bound(&self) -> Result<Vec<(ToSqlOutput<'_>, bool)>> {
        Ok(Vec::new())
    }
}

impl Values for &[&dyn Bind] {
    fn bound(&self) -> Result<Vec<(ToSqlOutput<'_>, bool)>> {
        self.iter().map(|value| value.bind()).collect()
    }
}

macro_rules! values {
    (arrays $($length:literal)+) => {
        $(impl<T: Bind> Values for [T; $length] {
            fn bound(&self) -> Result<Vec<(ToSqlOutput<'_>, bool)>> {
                self.iter().map(Bind::bind).collect()
            }
        })+
    };
    (tuple $($name:ident)+) => {
        impl<$($name: Bind),+> Values for ($($name,)+) {
            #[allow(non_snake_case, reason = "a value is named as its type")]
            fn bound(&self) -> Result<Vec<(ToSqlOutput<'_>, bool)>> {
                let ($($name,)+) = self;
                Ok(vec![$($name.bind()?),+])
            }
        }
    };
}

values!(arrays 1 2 3 4);
values!(tuple A B);
values!(tuple A B C);
values!(tuple A B C D);
values!(tuple A B C D E);
values!(tuple A B C D E F);
values!(tuple A B C D E F G);
values!(tuple A B C D E F G H);

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::store::Store;

    #[derive(Debug)]
    pub(crate) struct Hides(pub(crate) &'static str);

    impl Mask for Hides {
        fn for_storage<'t>(&self, text: &'t str) -> Cow<'t, str> {
            match text.contains(self.0) {
                true => Cow::Owned(text.replace(self.0, "***")),
                false => Cow::Borrowed(text),
            }
        }
    }

    #[test]
    fn whatever_is_bound_is_masked_and_found_again() {
        let store = Store::in_memory().unwrap().masking(Arc::new(Hides("hunter22")));
        let put = |value: Value| {
            store.write(|tx| {
                tx.execute("DELETE FROM schema_meta WHERE key = 'x'", [])?;
                tx.prepare_cached("INSERT INTO schema_meta(key, value) VALUES ('x', ?1)")?
                    .execute([&value])?;
                let found = tx
                    .prepare("SELECT value FROM schema_meta WHERE value = ?1")?
                    .query_map([&value], |row| row.get::<_, Value>(0))?
                    .collect::<Result<Vec<_>>>()?;
                Ok(found)
            })
        };
        for (given, kept) in [
            (Value::Text("a hunter22 b".into()), Value::Text("a *** b".into())),
            (Value::Blob(b"\xffhunter22".to_vec()), Value::Text("\u{fffd}***".into())),
            (Value::Blob(b"\xff".to_vec()), Value::Blob(b"\xff".to_vec())),
            (Value::Text("plain".into()), Value::Text("plain".into())),
        ] {
            assert_eq!(put(given).unwrap(), [kept]);
        }
    }

    #[test]
    fn a_key_stays_as_it_is_and_a_text_beside_it_is_masked() {
        let store = Store::in_memory().unwrap().masking(Arc::new(Hides("hunter22")));
        let rows = store.write(|tx| {
            tx.execute(
                "INSERT INTO schema_meta(key, value) VALUES (?1, ?2)",
                (Key("/hunter22"), "/hunter22"),
            )?;
            let sql = "SELECT key, value FROM schema_meta WHERE key = ?1 OR key = ?2";
            Ok(tx.query_row(sql, (MaybeKey(Some("/hunter22")), MaybeKey(None)), |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
            })?)
        });
        assert_eq!(rows.unwrap(), ("/hunter22".into(), "/***".into()));
    }

    /// Who uses the connection of `rusqlite` itself goes past the mask.
    #[test]
    fn no_other_module_binds_values() {
        let mut files: Vec<PathBuf> = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        let mut seen = 0;
        while let Some(path) = files.pop() {
            if path.is_dir() {
                files.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            seen += 1;
            // Tests may look at rows as another program would.
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            if path.ends_with("rows.rs")
                || path.ends_with("tests.rs")
                || path.ends_with("growth.rs")
            {
                continue;
            }
            for (number, line) in code.lines().enumerate() {
                let raw = ["Connection", "Transaction", "Statement", "CachedStatement"].iter().any(
                    |name| match line.trim_start().starts_with("use rusqlite") {
                        true => {
                            line.split(|c: char| !c.is_alphanumeric()).any(|word| word == *name)
                        }
                        false => line.contains(&format!("rusqlite::{name}")),
                    },
                );
                assert!(!raw, "{}:{}: {line}", path.display(), number + 1);
            }
        }
        assert!(seen > 20, "the sources were read");
    }
}
