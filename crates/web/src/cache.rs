//! Pages that were fetched lately, so that asking twice about one costs one request.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::page::Page;

/// How long a page counts as known.
const FRESH: Duration = Duration::from_secs(15 * 60);
/// The most pages that are kept.
const MAX_PAGES: usize = 64;
/// The most bytes of text that are kept.
const MAX_BYTES: usize = 16 << 20;

/// The key of a page: its URL, and whether the operator allowed the host at that time. A host
/// that is no longer allowed is not served from the cache either.
pub type CacheKey = (String, bool);

/// The pages, oldest first.
#[derive(Default)]
pub(crate) struct Cache {
    pages: VecDeque<(CacheKey, Instant, Arc<Page>)>,
    bytes: usize,
}

impl Cache {
    /// The page, if it is still fresh.
    pub(crate) fn get(&mut self, key: &CacheKey, now: Instant) -> Option<Arc<Page>> {
        let is_old = |since: &Instant| now.saturating_duration_since(*since) >= FRESH;
        while self.pages.front().is_some_and(|(_, since, _)| is_old(since)) {
            self.drop_oldest();
        }
        self.pages.iter().find(|(known, ..)| known == key).map(|(.., page)| Arc::clone(page))
    }

    /// Stores a page; the oldest are dropped if there is no room.
    pub(crate) fn put(&mut self, key: CacheKey, page: &Arc<Page>, now: Instant) {
        if let Some(at) = self.pages.iter().position(|(known, ..)| *known == key)
            && let Some((.., old)) = self.pages.remove(at)
        {
            self.bytes -= old.text.len();
        }
        self.bytes += page.text.len();
        self.pages.push_back((key, now, Arc::clone(page)));
        while self.pages.len() > MAX_PAGES || self.bytes > MAX_BYTES {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((.., page)) = self.pages.pop_front() {
            self.bytes -= page.text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(length: usize) -> Arc<Page> {
        Arc::new(Page { text: "a".repeat(length), ..Page::default() })
    }

    fn key(name: &str) -> CacheKey {
        (name.to_owned(), false)
    }

    #[test]
    fn a_page_is_known_for_a_quarter_of_an_hour() {
        let (mut cache, start) = (Cache::default(), Instant::now());
        cache.put(key("a"), &page(1), start);
        let later = |seconds: u64| start + Duration::from_secs(seconds);
        assert!(cache.get(&key("a"), later(899)).is_some());
        assert!(cache.get(&("a".to_owned(), true), later(1)).is_none(), "opened since");
        assert!(cache.get(&key("b"), later(1)).is_none());
        assert!(cache.get(&key("a"), later(900)).is_none());
        assert_eq!((cache.pages.len(), cache.bytes), (0, 0));
    }

    #[test]
    fn it_does_not_grow_without_end() {
        let (mut cache, now) = (Cache::default(), Instant::now());
        for number in 0..1000 {
            cache.put(key(&number.to_string()), &page(10), now);
        }
        assert_eq!((cache.pages.len(), cache.bytes), (MAX_PAGES, MAX_PAGES * 10));
        assert!(cache.get(&key("999"), now).is_some());
        for _ in 0..100 {
            cache.put(key("large"), &page(MAX_BYTES / 2 + 1), now);
        }
        assert!(cache.get(&key("large"), now).is_some());
        cache.put(key("other"), &page(MAX_BYTES / 2 + 1), now);
        assert!(cache.get(&key("large"), now).is_none());
        assert_eq!((cache.pages.len(), cache.bytes), (1, MAX_BYTES / 2 + 1));
    }
}
