//! What servers ask of the human, and of ona.

use std::sync::Arc;
use std::time::Duration;

use ona_mcp::{ElicitAnswer, ElicitForm, PoolOptions, Root, ServerState};
use serde_json::{Value, json};

use crate::{Answers, call, fixture, quick, said, settled_with, state};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_asks_the_human() {
    let colour = json!({"colour": "green"}).as_object().unwrap().clone();
    for (answer, expected) in [
        (ElicitAnswer::Accept(colour), json!({"action": "accept", "content": {"colour": "green"}})),
        (ElicitAnswer::Decline, json!({"action": "decline"})),
        (ElicitAnswer::Cancel, json!({"action": "cancel"})),
    ] {
        let callbacks = Answers::with(answer);
        let pool =
            settled_with(vec![fixture("s", &[])], Arc::<Answers>::clone(&callbacks), quick()).await;
        let heard: Value = serde_json::from_str(&said(&pool, "ask", "").await).unwrap();
        assert_eq!(heard, expected);
        let asked = callbacks.asked.lock().unwrap();
        assert_eq!(asked[0].message, "Which colour?");
        let ElicitForm::Fields { schema } = &asked[0].form else { panic!("{asked:?}") };
        assert_eq!(schema["properties"]["colour"]["type"], "string");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_shows_the_human_a_page_and_nothing_else() {
    let callbacks = Answers::with(ElicitAnswer::Accept(serde_json::Map::new()));
    let pool =
        settled_with(vec![fixture("s", &[])], Arc::<Answers>::clone(&callbacks), quick()).await;
    let heard = said(&pool, "ask_page", "https://example.com/sign").await;
    assert_eq!(heard, r#"{"action":"accept"}"#);
    let url = "https://example.com/sign".to_owned();
    let form = ElicitForm::Page { url, id: "e1".to_owned() };
    assert_eq!(callbacks.asked.lock().unwrap()[0].form, form);
    let heard = said(&pool, "ask_page", "file:///etc/passwd").await;
    assert!(heard.contains("not the URL of a web page"), "{heard}");
    assert_eq!(callbacks.asked.lock().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_humans_time_is_not_the_servers() {
    let mut impatient = fixture("s", &[]);
    impatient.call_timeout = Duration::from_millis(400);
    let callbacks = Arc::new(Answers::default());
    let pool = settled_with(vec![impatient], Arc::<Answers>::clone(&callbacks), quick()).await;
    let asking = call(&pool, "ask", "");
    let waited = tokio::time::timeout(Duration::from_secs(2), asking).await;
    assert!(waited.is_err(), "nobody has answered, and still it goes on: {waited:?}");
    assert_eq!(callbacks.asked.lock().unwrap().len(), 1);
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_are_told_of_roots_and_of_their_change() {
    let root = |uri: &str| Root { uri: uri.to_owned(), name: Some("project".to_owned()) };
    let options = PoolOptions { roots: vec![root("file:///project")], ..quick() };
    let callbacks = Arc::new(Answers::default());
    let pool = settled_with(vec![fixture("s", &[])], callbacks, options).await;
    assert_eq!(state(&pool, "s"), ServerState::Connected);
    let heard: Value = serde_json::from_str(&said(&pool, "roots", "").await).unwrap();
    assert_eq!(heard, json!({"roots": [{"uri": "file:///project", "name": "project"}]}));
    pool.set_roots(vec![root("file:///elsewhere")]).await;
    let heard = said(&pool, "roots", "").await;
    assert!(heard.contains("file:///elsewhere"), "{heard}");
}
