//! Agents, skills, custom commands, output styles and plugins: found, read, checked, and made ready for use.
//!
//! [`Extensions::load`] reads all extensions of a session. An agent or a skill is known by its name; the one that wins
//! comes first, and one that is hidden by another of the same name is listed as [`Shadowed`]. A file that cannot be
//! used affects only itself: a [`Diagnostic`](ona_types::Diagnostic) names the file, the line, the reason and the remedy. If a key is broken that
//! was meant to restrict something, the file counts as unusable, and its name stays taken.
//!
//! [`render`] makes a prompt of a skill, [`tools_for`] says which tools an agent has, [`slash`] what a prompt calls.
//! Nothing here runs anything: commands in skills, hooks and servers come out as values, for the gate.
//!
//! Settings, trust and instructions are in `ona-config`, which this crate reads and which knows nothing of it.

mod agent;
mod effects;
mod extensions;
mod files;
mod keys;
mod names;
mod notes;
mod output_style;
pub mod plugin;
mod render;
mod skill;
mod slash;
mod trust_request;

pub use agent::{AgentDefinition, MemoryPlace, ServerUse, tools_for};
pub use extensions::{
    Extensions, GivenAgentsError, Kind, NotFound, Shadowed, Sources, check_given, listing_room,
};
pub use names::is_name;
pub use ona_config::trust::Origin;
pub use output_style::{DEFAULT_STYLE, OutputStyle};
pub use plugin::Plugin;
pub use plugin::registry::{ActivePlugins, active_plugins, is_switched_off};
pub use render::{Piece, RenderContext, RenderError, Rendered, SWITCHED_OFF, render, words};
pub use skill::{PluginPlace, SkillDefinition, SkillKind, SkillPaths};
pub use slash::slash;
pub use trust_request::{added_effects, trust_request};
