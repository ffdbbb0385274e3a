//! The way through a script: what runs in the same shell, and on what condition. Whoever follows it knows in which
//! directory a command runs.

use std::collections::HashMap;

use tree_sitter::Node;

use crate::{Ahead, Script};

/// A step on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The command of this number runs.
    Command(usize),
    /// The redirection of this number is opened.
    Redirect(usize),
    /// A shell of its own begins: where it goes is not where the others go.
    Enter,
    /// It ends.
    Leave,
    /// What follows runs on a condition.
    Fork(Branch),
    /// Another branch of the same condition begins.
    Else,
    /// The condition ends.
    Join,
    /// What was done counts as done if it failed.
    Not,
    /// What follows may run again and again.
    Again,
    /// It does no more.
    Done,
    /// What follows runs later, from wherever it is called.
    Later,
    /// It is told.
    Told,
}

/// The condition of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    /// What stands before it succeeded.
    And,
    /// What stands before it failed.
    Or,
    /// Something else.
    Maybe,
}

/// Redirections that are opened before the node of this number runs. The grammar hangs what stands behind the last
/// command of a list on the whole list.
pub(super) type Opened<'t> = HashMap<usize, Vec<Node<'t>>>;

/// The part of a statement that the redirections behind it belong to.
fn last_part(mut node: Node<'_>) -> Node<'_> {
    while matches!(node.kind(), "list" | "pipeline" | "negated_command" | "redirected_statement") {
        let last = match node.child_by_field_name("body") {
            Some(body) => Some(body),
            None => u32::try_from(node.named_child_count())
                .ok()
                .and_then(|count| node.named_child(count.checked_sub(1)?)),
        };
        match last {
            Some(last) => node = last,
            None => break,
        }
    }
    node
}

/// Redirections stand in a script as they stand in the text, whenever they are opened.
pub(super) fn in_order_of_text(script: &mut Script, places: &[usize]) {
    let mut order: Vec<usize> = (0..script.redirects.len()).collect();
    order.sort_by_key(|at| places.get(*at));
    let mut numbers = vec![0; order.len()];
    for (new, old) in order.iter().enumerate() {
        numbers[*old] = new;
    }
    script.redirects = order.iter().map(|at| script.redirects[*at].clone()).collect();
    for step in &mut script.steps {
        if let Step::Redirect(at) = step {
            *at = numbers[*at];
        }
    }
}

/// A node's children, with the steps between and around them.
pub(super) fn around<'t>(node: Node<'t>, opened: &mut Opened<'t>) -> Vec<Ahead<'t>> {
    let mut cursor = node.walk();
    let mut children: Vec<Node<'t>> = node.children(&mut cursor).collect();
    let mut ahead: Vec<Ahead<'t>> = Vec::with_capacity(children.len() + 2);
    let step = |ahead: &mut Vec<Ahead<'t>>, step: Step| ahead.push(Ahead::Step(step));
    let before = opened.remove(&node.id()).unwrap_or_default();
    ahead.extend(before.into_iter().map(|redirect| Ahead::Node(redirect, Some(node))));
    if let Some(body) =
        node.child_by_field_name("body").filter(|_| node.kind() == "redirected_statement")
    {
        let (redirects, others) =
            children.into_iter().partition(|child: &Node<'t>| child.kind() == "file_redirect");
        children = others;
        opened.entry(last_part(body).id()).or_default().extend::<Vec<Node<'t>>>(redirects);
    }
    let (opens, closes): (&[Step], &[Step]) = match node.kind() {
        "subshell" | "command_substitution" | "process_substitution" => {
            (&[Step::Enter], &[Step::Leave])
        }
        "if_statement" | "case_statement" => (&[Step::Fork(Branch::Maybe)], &[Step::Join]),
        "elif_clause" | "else_clause" | "case_item" => (&[Step::Else], &[]),
        "while_statement" | "for_statement" | "c_style_for_statement" => {
            (&[Step::Again], &[Step::Done])
        }
        "function_definition" => (&[Step::Later], &[Step::Told]),
        "negated_command" => (&[], &[Step::Not]),
        _ => (&[], &[]),
    };
    opens.iter().for_each(|one| step(&mut ahead, *one));
    let mut joins = 0;
    for (at, child) in children.iter().enumerate() {
        let branch = match child.kind() {
            "&&" => Some(Branch::And),
            "||" => Some(Branch::Or),
            _ => None,
        };
        if let Some(branch) = branch.filter(|_| node.kind() == "list") {
            step(&mut ahead, Step::Fork(branch));
            joins += 1;
        }
        // The tree would search for the sibling from its root.
        let next = children.get(at + 1);
        let aside = child.is_named() && next.is_some_and(|next| next.kind() == "&");
        let apart = aside || child.is_named() && node.kind() == "pipeline";
        if apart {
            step(&mut ahead, Step::Enter);
        }
        ahead.push(Ahead::Node(*child, Some(node)));
        if apart {
            step(&mut ahead, Step::Leave);
        }
    }
    (0..joins).for_each(|_| step(&mut ahead, Step::Join));
    closes.iter().for_each(|one| step(&mut ahead, *one));
    ahead
}
