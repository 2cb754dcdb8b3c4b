// kube-rs: everyday work, with a watcher. KUBECONFIG says where.
use futures::{AsyncBufReadExt, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::api::{Api, AttachParams, DeleteParams, ListParams, LogParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher;
use kube::{Client, ResourceExt};
use serde_json::json;
use tokio::io::AsyncReadExt;

const NAMESPACE: &str = "kube-rs";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::try_default().await?;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}}))?;
    namespaces.create(&PostParams::default(), &namespace).await?;

    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let body = json!({"metadata": {"name": "a", "labels": {"x": "y"}}, "data": {"k": "1"}});
    let mut made = maps.create(&PostParams::default(), &serde_json::from_value(body)?).await?;
    let mut events = watcher(maps.clone(), watcher::Config::default().labels("x=y")).boxed();
    while let Some(event) = events.try_next().await? {
        if let watcher::Event::InitDone = event {
            break;
        }
    }
    made.data.get_or_insert_default().insert("k".into(), "2".into());
    maps.replace("a", &PostParams::default(), &made).await?;
    match maps.replace("a", &PostParams::default(), &made).await {
        Err(kube::Error::Api(problem)) => assert_eq!(problem.code, 409),
        other => panic!("an old version was taken: {other:?}"),
    }
    let merge = Patch::Merge(json!({"data": {"l": "3"}}));
    let patched = maps.patch("a", &PatchParams::default(), &merge).await?;
    assert_eq!(patched.data.unwrap()["l"], "3");
    let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"k": "1"}});
    maps.patch("b", &PatchParams::apply("me"), &Patch::Apply(wanted)).await?;
    let found = maps.list(&ListParams::default().labels("x=y")).await?;
    assert_eq!(found.items.iter().map(|item| item.name_any()).collect::<Vec<_>>(), ["a"]);
    maps.delete("a", &DeleteParams::default()).await?;
    let mut kinds = vec![];
    while let Some(event) = events.try_next().await? {
        match event {
            watcher::Event::Apply(_) => kinds.push("applied"),
            watcher::Event::Delete(_) => break,
            _ => panic!("a list that was not asked for"),
        }
    }
    assert_eq!(kinds, ["applied", "applied"]);

    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let container = json!({"name": "c", "image": "process.setpoint.dev/sh", "args": ["-c", "echo hello; sleep 600"]});
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [container]}});
    pods.create(&PostParams::default(), &serde_json::from_value(pod)?).await?;
    await_condition(pods.clone(), "p", conditions::is_pod_running()).await?;
    let follow = LogParams { follow: true, ..LogParams::default() };
    let mut lines = pods.log_stream("p", &follow).await?.lines();
    assert_eq!(lines.try_next().await?.unwrap(), "hello");
    let mut exec = pods.exec("p", ["echo", "there"], &AttachParams::default().stderr(false)).await?;
    let mut told = String::new();
    exec.stdout().unwrap().read_to_string(&mut told).await?;
    assert_eq!(told.trim(), "there");
    namespaces.delete(NAMESPACE, &DeleteParams::default()).await?;
    println!("done");
    Ok(())
}
