//! The loop between the terminal, the core and the state.

use std::io;
use std::time::{Duration, Instant};

use crossterm::event::{Event as Input, EventStream};
use futures_util::StreamExt as _;
use ona_front::{ClientHandle, Event, Op};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{sleep, timeout};

use crate::app::{App, Effect};
use crate::background::{BackgroundAnswer, Heard};
use crate::clipboard;
use crate::dropped;
use crate::hangup::Hangup;
use crate::platform::{Facts, Notifies, Platform};
use crate::screen::Screen;
use crate::terminal::{self, Modes};

/// Without a key, a frame follows the last one after this time at the earliest.
const FRAME: Duration = Duration::from_millis(16);
/// Input/output error, on every system ona runs on.
const EIO: i32 = 5;
/// What comes so soon after a key belongs to the same burst.
const BURST: Duration = Duration::from_millis(1);
/// Events that are taken at once before a frame.
const BATCH: usize = 4_000;

/// How the interface ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The user left, or the core ended.
    Left,
    /// The terminal is gone.
    TerminalGone,
}

/// Runs the terminal interface until the user leaves or the core ends.
pub fn run(
    facts: Facts,
    client: &ClientHandle,
    events: UnboundedReceiver<Event>,
    platform: &dyn Platform,
) -> io::Result<Ended> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let _modes = Modes;
    let mut out = io::stdout();
    terminal::enter(&mut out, facts.ask_background)?;
    let (columns, rows) = crossterm::terminal::size()?;
    let reflow = facts.reflow;
    let runner = Runner {
        app: App::new(facts, columns.into(), rows.into(), Instant::now()),
        screen: Screen::new(io::stdout(), columns.into(), rows.into(), reflow),
        client,
        platform,
        background: BackgroundAnswer::default(),
        was_suspended: false,
        leaving: false,
    };
    match runtime.block_on(runner.go(events)) {
        // A terminal that is gone answers every access with an input/output error.
        Err(error) if error.raw_os_error() == Some(EIO) => Ok(Ended::TerminalGone),
        ended => ended,
    }
}

struct Runner<'a> {
    app: App,
    screen: Screen<io::Stdout>,
    client: &'a ClientHandle,
    platform: &'a dyn Platform,
    background: BackgroundAnswer,
    /// The process has stopped itself: going on needs nothing more.
    was_suspended: bool,
    leaving: bool,
}

impl Runner<'_> {
    async fn go(mut self, mut events: UnboundedReceiver<Event>) -> io::Result<Ended> {
        let (stop, go_on) = self.platform.stop_signals();
        let mut stop = signal(SignalKind::from_raw(stop))?;
        let mut go_on = signal(SignalKind::from_raw(go_on))?;
        let hangup = Hangup::watch();
        let mut keys = EventStream::new();
        self.draw()?;
        let mut last_frame = Instant::now();
        let mut core_lives = true;
        while !self.leaving {
            let tick = match self.background.is_waiting() {
                true => Duration::from_millis(100),
                false => self.app.next_tick(),
            };
            // A key is shown at once; what streams in, sixty times a second.
            let mut at_once = false;
            tokio::select! {
                biased;
                () = hangup.wait() => {
                    self.client.send(Op::Quit);
                    return Ok(Ended::TerminalGone);
                }
                input = keys.next() => match input {
                    Some(Ok(input)) => {
                        at_once = true;
                        self.input(input)?;
                        self.rest_of_burst(&mut keys).await?;
                    }
                    Some(Err(_)) | None => {
                        self.client.send(Op::Quit);
                        return Ok(Ended::TerminalGone);
                    }
                },
                event = events.recv(), if core_lives => match event {
                    Some(event) => self.app.event(event, Instant::now()),
                    None => {
                        core_lives = false;
                        self.app.core_ended();
                    }
                },
                // Somebody else stops ona: the terminal is given back first.
                _ = stop.recv() => {
                    at_once = true;
                    self.app.suspend();
                }
                // It was stopped without being asked, and the terminal may be another one's since.
                _ = go_on.recv() => {
                    at_once = true;
                    if !std::mem::take(&mut self.was_suspended) {
                        terminal::leave();
                        terminal::enter(&mut io::stdout(), false)?;
                        self.redraw()?;
                    }
                }
                () = sleep(tick) => {
                    let now = Instant::now();
                    for key in self.background.expired(now) {
                        self.app.key(key, now);
                    }
                    self.app.tick(now);
                    at_once = true;
                }
            }
            for _ in 0..BATCH {
                match events.try_recv() {
                    Ok(event) => self.app.event(event, Instant::now()),
                    Err(_) => break,
                }
            }
            if !at_once {
                let since = last_frame.elapsed();
                if since < FRAME {
                    // More may come before the next frame is due; a key does not wait for it.
                    tokio::select! {
                        biased;
                        input = keys.next() => match input {
                            Some(Ok(input)) => self.input(input)?,
                            Some(Err(_)) | None => {
                                self.client.send(Op::Quit);
                                return Ok(Ended::TerminalGone);
                            }
                        },
                        () = sleep(FRAME - since) => {}
                    }
                    for _ in 0..BATCH {
                        match events.try_recv() {
                            Ok(event) => self.app.event(event, Instant::now()),
                            Err(_) => break,
                        }
                    }
                }
            }
            self.app.tick(Instant::now());
            if self.app.gives_terminal_away() {
                // Two cannot read from one terminal, and a new reader waits for the old one.
                drop(keys);
                // Dropping wakes whoever reads. If nobody does, the wake-up would hide the next key.
                let _ = crossterm::event::poll(Duration::ZERO);
                self.effects()?;
                keys = EventStream::new();
            } else {
                self.effects()?;
            }
            self.draw()?;
            last_frame = Instant::now();
        }
        self.screen.draw(&self.app.take_finished(), &crate::screen::Frame::default())?;
        self.screen.clear_live()?;
        Ok(Ended::Left)
    }

    /// Input that comes faster than anybody types is drawn together, as far as it has no effect beyond the screen.
    async fn rest_of_burst(&mut self, keys: &mut EventStream) -> io::Result<()> {
        let start = Instant::now();
        while start.elapsed() < FRAME && !self.app.has_effects() {
            match timeout(BURST, keys.next()).await {
                Ok(Some(Ok(input))) => self.input(input)?,
                // An error comes again.
                _ => break,
            }
        }
        Ok(())
    }

    fn input(&mut self, input: Input) -> io::Result<()> {
        let now = Instant::now();
        match input {
            Input::Key(key) => match self.background.hear(key, now) {
                Heard::Part => {}
                Heard::Light(light) => {
                    if let Some(light) = light {
                        self.app.background(light);
                    }
                }
                Heard::Keys(keys) => keys.into_iter().for_each(|key| self.app.key(key, now)),
            },
            Input::Paste(text) => {
                let pictures = match self.app.is_at_prompt() {
                    true => dropped::mentions(&text, |path| self.platform.is_file(path)),
                    false => None,
                };
                self.app.paste(&pictures.unwrap_or(text), now);
            }
            Input::Resize(columns, rows) => {
                self.app.resize(columns.into(), rows.into());
                let finished = self.app.take_finished();
                let frame = self.app.frame();
                if !finished.is_empty() {
                    self.screen.draw(&finished, &frame)?;
                }
                let app = &self.app;
                self.screen.resized(columns.into(), rows.into(), |most| app.tail(most), &frame)?;
            }
            Input::FocusGained => self.app.focus(true),
            Input::FocusLost => self.app.focus(false),
            Input::Mouse(_) => {}
        }
        Ok(())
    }

    fn draw(&mut self) -> io::Result<()> {
        if self.app.is_full_screen()
            && let Some(frame) = self.app.full_frame()
        {
            // Finished rows wait until the screen is left.
            terminal::on_alternate(true);
            return self.screen.draw_alternate(&frame);
        }
        terminal::on_alternate(false);
        let finished = self.app.take_finished();
        let frame = self.app.frame();
        self.screen.draw(&finished, &frame)
    }

    /// Does what is to be done.
    fn effects(&mut self) -> io::Result<()> {
        for effect in self.app.take_effects() {
            match effect {
                Effect::Send(op) => self.client.send(*op),
                Effect::Copy(text) => self.screen.write(&clipboard::osc52(&text))?,
                Effect::Title(title) => {
                    let title: String = title.chars().filter(|c| !c.is_control()).collect();
                    self.screen.write(&format!("\x1b]2;{title}\x1b\\"))?;
                }
                Effect::Notify(how, text) => {
                    let text: String = text.chars().filter(|c| !c.is_control()).collect();
                    self.screen.write(&match how {
                        Notifies::Never => String::new(),
                        Notifies::Bell => "\x07".to_owned(),
                        Notifies::Osc9 => format!("\x1b]9;{text}\x1b\\"),
                        Notifies::Kitty => format!("\x1b]99;;{text}\x1b\\"),
                    })?;
                }
                Effect::EditPrompt(text) => {
                    match self.outside(|platform| platform.edit_text(&text))? {
                        Ok(text) => self.app.edited(&text),
                        Err(error) => self.app.failed(&error.to_string()),
                    }
                }
                Effect::EditFile(file, then) => {
                    match self.outside(|platform| platform.edit_file(&file))? {
                        Ok(()) if then.is_empty() => {}
                        Ok(()) => self.client.send(Op::Command { line: then }),
                        Err(error) => self.app.failed(&error.to_string()),
                    }
                }
                Effect::PasteImage => match self.platform.clipboard_image() {
                    Ok(attachment) => self.app.pasted_image(attachment),
                    Err(error) => self.app.failed(&error.to_string()),
                },
                Effect::Redraw => self.redraw()?,
                Effect::Suspend => {
                    self.was_suspended = true;
                    self.outside(|platform| platform.suspend())?;
                }
                Effect::Leave => self.leaving = true,
            }
        }
        Ok(())
    }

    fn redraw(&mut self) -> io::Result<()> {
        // The tail has them too.
        drop(self.app.take_finished());
        let frame = self.app.frame();
        let app = &self.app;
        self.screen.redraw(|most| app.tail(most), &frame)
    }

    /// Gives the terminal to another program, and takes it back.
    fn outside<T>(&mut self, work: impl FnOnce(&dyn Platform) -> T) -> io::Result<T> {
        self.screen.clear_live()?;
        terminal::leave();
        let done = work(self.platform);
        terminal::enter(&mut io::stdout(), false)?;
        let (columns, rows) = crossterm::terminal::size()?;
        self.app.resize(columns.into(), rows.into());
        self.screen = Screen::new(io::stdout(), columns.into(), rows.into(), self.screen.reflow());
        Ok(done)
    }
}
