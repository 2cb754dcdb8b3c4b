//! The informers and controllers of the comparison, written with kube-rs: `peer SERVER WORK LISTS PARTS`.
//!
//! WORK is `informer`, `metadata`, `pods`, `create` or `apply`, LISTS `plain` or `streamed`, PARTS the kinds and numbers
//! of objects, such as `nodes=100,pods=1200`.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
};

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::{Container, Node, Pod, PodSpec};
use kube::{
    Api, Client, Config, CustomResource, Resource, ResourceExt,
    core::PartialObjectMeta,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
    runtime::{
        Controller, WatchStreamExt, controller,
        reflector::{self, ObjectRef, Store},
        watcher::{self, Event, watcher},
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::json;

const WORKERS: u16 = 8;

#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[kube(group = "bench.example.com", version = "v1", kind = "Mykind", namespaced, status = "MykindStatus")]
#[serde(default)]
struct MykindSpec {
    numpods: usize,
    replicas: i64,
    settings: BTreeMap<String, String>,
    checksum: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
struct MykindStatus {
    pods: usize,
    ready: i64,
    observed_generation: i64,
    phase: String,
}

unsafe extern "C" {
    fn malloc_trim(pad: usize) -> i32;
}

fn say(word: &str) {
    println!("{word}");
}

fn hear(word: &str) {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("standard input");
    assert_eq!(line.trim(), word);
}

fn collected() {
    hear("collect");
    unsafe { malloc_trim(0) };
    say("collected");
}

/// Waits until each of `parts` informers has sent `word`, and passes it on.
fn pass_on(news: &Receiver<&str>, word: &str, parts: usize) {
    for _ in 0..parts {
        assert_eq!(news.recv().expect("an informer that runs"), word);
    }
    say(word);
}

// -- informers ----------------------------------------------------------------------------------------------------------

async fn watch<K>(events: impl Stream<Item = watcher::Result<Event<K>>>, count: usize, news: Sender<&'static str>)
where
    K: Resource<DynamicType = ()> + Clone + Debug + 'static,
{
    let (reader, writer) = reflector::store::<K>();
    let mut events = pin!(events.default_backoff().reflect(writer));
    let mut seen = 0;
    while let Some(event) = events.next().await {
        match event.expect("a watch without errors") {
            Event::InitDone => {
                assert_eq!(reader.len(), count);
                news.send("synced").expect("a main thread");
            }
            Event::Apply(_) => {
                seen += 1;
                if seen == count {
                    news.send("done").expect("a main thread");
                }
            }
            _ => {}
        }
    }
}

fn follow<K>(client: Client, config: watcher::Config, metadata: bool, count: usize, news: Sender<&'static str>)
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    if metadata {
        tokio::spawn(watch(watcher(Api::<PartialObjectMeta<K>>::all(client), config), count, news));
    } else {
        tokio::spawn(watch(watcher(Api::<K>::all(client), config), count, news));
    }
}

fn informers(client: Client, config: watcher::Config, metadata: bool, parts: &[(String, usize)]) {
    let (sender, news) = channel();
    say("ready");
    hear("sync");
    for (workload, count) in parts {
        let (client, config, sender) = (client.clone(), config.clone(), sender.clone());
        match workload.as_str() {
            "nodes" => follow::<Node>(client, config, metadata, *count, sender),
            "custom" => follow::<Mykind>(client, config, metadata, *count, sender),
            "pods" | "unlike" => follow::<Pod>(client, config, metadata, *count, sender),
            _ => panic!("unknown workload {workload}"),
        }
    }
    pass_on(&news, "synced", parts.len());
    collected();
    say("watching");
    pass_on(&news, "done", parts.len());
    collected();
    hear("exit");
}

// -- controllers --------------------------------------------------------------------------------------------------------

fn error_policy<K, C>(_object: Arc<K>, error: &kube::Error, _context: Arc<C>) -> controller::Action {
    panic!("a reconcile failed: {error}");
}

/// Reads every pod once at the start and once for every event.
fn pods(client: Client, config: watcher::Config, count: usize) {
    let (sender, news) = channel();
    say("ready");
    hear("sync");
    let seen = Arc::new(AtomicUsize::new(0));
    let reconcile = move |pod: Arc<Pod>, _context: Arc<()>| {
        assert!(pod.metadata.name.is_some());
        let number = seen.fetch_add(1, Ordering::Relaxed) + 1;
        if number == count {
            sender.send("synced").expect("a main thread");
        } else if number == 2 * count {
            sender.send("done").expect("a main thread");
        }
        async { Ok::<_, kube::Error>(controller::Action::await_change()) }
    };
    let run = Controller::new(Api::<Pod>::all(client), config)
        .with_config(controller::Config::default().concurrency(WORKERS))
        .run(reconcile, error_policy, Arc::new(()));
    tokio::spawn(run.for_each(|_| async {}));
    pass_on(&news, "synced", 1);
    collected();
    say("watching");
    pass_on(&news, "done", 1);
    collected();
    hear("exit");
}

struct Context {
    client: Client,
    pods: Store<Pod>,
    apply: bool,
}

async fn reconcile(mykind: Arc<Mykind>, context: Arc<Context>) -> Result<controller::Action, kube::Error> {
    let namespace = mykind.namespace().expect("a namespace");
    let pods = Api::<Pod>::namespaced(context.client.clone(), &namespace);
    let mut there = 0;
    for number in 0..mykind.spec.numpods {
        let name = format!("{}-{number}", mykind.name_any());
        if context.pods.get(&ObjectRef::new(&name).within(&namespace)).is_some() {
            there += 1;
            continue;
        }
        let pod = Pod {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                owner_references: mykind.controller_owner_ref(&()).map(|owner| vec![owner]),
                ..ObjectMeta::default()
            },
            spec: Some(PodSpec {
                containers: vec![Container {
                    name: "main".into(),
                    image: Some("busybox".into()),
                    ..Container::default()
                }],
                ..PodSpec::default()
            }),
            ..Pod::default()
        };
        if context.apply {
            pods.patch(&name, &PatchParams::apply("mykind").force(), &Patch::Apply(&pod)).await?;
        } else {
            match pods.create(&PostParams::default(), &pod).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {} // the store is behind
                other => drop(other?),
            }
        }
    }
    if mykind.status.as_ref().map_or(0, |status| status.pods) != there {
        let patch = Patch::Merge(json!({"status": {"pods": there}}));
        let mykinds = Api::<Mykind>::namespaced(context.client.clone(), &namespace);
        mykinds.patch_status(&mykind.name_any(), &PatchParams::default(), &patch).await?;
    }
    Ok(controller::Action::await_change())
}

/// Keeps the pods of every Mykind, until it is told to exit.
fn children(client: Client, config: watcher::Config, apply: bool) {
    let (reader, writer) = reflector::store::<Pod>();
    let owned = watcher(Api::<Pod>::all(client.clone()), config.clone()).default_backoff().reflect(writer);
    say("ready");
    hear("sync");
    let context = Arc::new(Context { client: client.clone(), pods: reader, apply });
    let run = Controller::new(Api::<Mykind>::all(client), config)
        .owns_stream(owned.touched_objects())
        .with_config(controller::Config::default().concurrency(WORKERS))
        .run(reconcile, error_policy, context);
    tokio::spawn(run.for_each(|_| async {}));
    collected();
    hear("exit");
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [server, work, lists, parts] = arguments.as_slice() else { panic!("peer SERVER WORK LISTS PARTS") };
    let parts: Vec<(String, usize)> = parts
        .split(',')
        .map(|part| part.split_once('=').expect("WORKLOAD=COUNT"))
        .map(|(workload, count)| (workload.into(), count.parse().expect("a number")))
        .collect();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let _inside = runtime.enter();
    let mut config = Config::new(server.parse().expect("an address"));
    config.read_timeout = None;
    let client = Client::try_from(config).expect("a client");
    let watching = match lists.as_str() {
        "streamed" => watcher::Config::default().streaming_lists(),
        _ => watcher::Config::default(),
    };
    match work.as_str() {
        "informer" | "metadata" => informers(client, watching, work == "metadata", &parts),
        "pods" => pods(client, watching, parts[0].1),
        "create" | "apply" => children(client, watching, work == "apply"),
        _ => panic!("unknown work {work}"),
    }
}
