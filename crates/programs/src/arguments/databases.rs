//! Shells of databases: their own commands, and some functions, run programs or write files.

use ona_shell::Word;

use super::{Arguments, Kind, Program};

/// Words at the beginning of a statement that are for the shell and not for the database.
const ORDERS: &[&str] = &["system", "source", "pager", "tee", "edit", "delimiter"];

/// What runs a program, loads one or writes a file from within a statement.
const FUNCTIONS: &[&str] = &["load_extension", "edit(", "edit (", "writefile", " program"];

impl Program {
    pub(super) fn is_database_shell(&self) -> bool {
        ["psql", "mysql", "sqlite3"].iter().any(|name| self.names.contains(name))
    }

    /// Whether the arguments make such a shell do more than to send plain statements. Without any it takes them from its
    /// input.
    pub(super) fn gives_orders(&self, arguments: &Arguments) -> bool {
        let mut statements: Vec<&Word> = arguments.values(Kind::Statement).collect();
        if self.names.contains(&"sqlite3") {
            statements.extend(arguments.operands.iter().skip(1));
        }
        let only_tells = ["list", "version", "help"].iter().any(|name| arguments.has_long(name))
            || !self.one_dash && arguments.letters.contains(['l', 'V', '?']);
        let plain = |word: &&Word| word.literal.as_deref().is_some_and(|text| !is_order(text));
        let values = arguments.options.iter().map(|(_, value)| value);
        let pipes = values.chain(&arguments.operands).any(|word| word.source.contains('|'));
        let fed = statements.is_empty() && !only_tells;
        fed || pipes || !statements.iter().all(plain)
    }
}

fn is_order(text: &str) -> bool {
    let text = text.to_lowercase();
    let begins = |piece: &str| {
        let word = piece.split_whitespace().next().unwrap_or_default();
        word.starts_with(['.', '!']) || ORDERS.contains(&word)
    };
    text.contains('\\')
        || FUNCTIONS.iter().any(|function| text.contains(function))
        || text.split([';', '\n']).any(begins)
}

#[cfg(test)]
mod tests {
    use crate::arguments::runs;

    #[test]
    fn orders_are_told_from_statements() {
        let gives_orders =
            |source: &str| !runs(&ona_shell::parse(source).commands.remove(0).words).is_empty();
        for source in [
            "sqlite3 x.db '.shell touch p'",
            "sqlite3 x.db 'select 1' ' .system id'",
            "sqlite3 -readonly x.db '.once |id'",
            "sqlite3 x.db \"select edit('x', 'id')\"",
            "sqlite3 x.db \"select load_extension('./x')\"",
            "sqlite3 -cmd '.shell id' x.db 'select 1'",
            "sqlite3 x.db",
            "sqlite3 x.db \"$sql\"",
            "sqlcipher x.db '.shell id'",
            "psql -c '\\! id'",
            "psql -qc 'select 1 \\g |id' db",
            "psql --comm='\\! id'",
            "psql -f x.sql",
            "psql -o '|id' -c 'select 1'",
            "psql db",
            "mysql -e 'system id'",
            "mysql -Be 'select 1; \\! id'",
            "mysql --pager=id -e 'select 1'",
            "mariadb db",
        ] {
            assert!(gives_orders(source), "{source}");
        }
        for source in [
            "sqlite3 x.db 'select * from t'",
            "sqlite3 -header -separator , x.db 'select 1; select 2'",
            "sqlite3 -version",
            "psql -c 'select 1'",
            "psql -d db -Atc 'select 1'",
            "psql -l",
            "psql --version",
            "mysql -u root -e 'show tables' db",
            "mysql --version",
        ] {
            assert!(!gives_orders(source), "{source}");
        }
    }
}
