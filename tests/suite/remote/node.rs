//! A node: the program itself, which serves from a user space of its own; and a caller that it
//! knows.

use std::io::{BufRead, BufReader};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::world::wait::PATIENCE;
use crate::world::{End, World, fingerprint};

/// A running node; dropping it kills it.
pub struct Node {
    child: Child,
    /// Its address, as `127.0.0.1:8700`.
    pub at: String,
    /// The fingerprint of its key.
    pub key: String,
    lines: Receiver<String>,
    said: Vec<String>,
}

impl Node {
    pub fn start(operator: &World) -> Self {
        Self::start_with(operator, &[])
    }

    pub fn start_with(operator: &World, more: &[&str]) -> Self {
        let mut command = operator.command(&[&["serve", "--listen", "127.0.0.1:0"], more].concat());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a node");
        let said = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let (say, lines) = channel();
        thread::spawn(move || said.map_while(Result::ok).try_for_each(|line| say.send(line)));
        let (at, key) = (String::new(), String::new());
        let mut node = Self { child, at, key, lines, said: Vec::new() };
        node.key = node.hear("node ");
        node.at = node.hear("listening on http://");
        node
    }

    /// Waits for a line that begins so, and gives the rest of it.
    #[track_caller]
    pub fn hear(&mut self, begin: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|error| panic!("{error}: {:?}", self.said));
            self.said.push(line);
            if let Some(rest) = self.said.last().and_then(|line| line.strip_prefix(begin)) {
                return rest.to_owned();
            }
        }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Asks it to end.
    pub fn ask_to_end(&self) {
        kill_process(self.pid(), Signal::TERM).expect("a node");
    }

    pub fn kill(mut self) {
        self.child.kill().expect("a node");
        self.child.wait().expect("a child");
    }

    /// Waits until it ended; gives how, and all that it said.
    pub fn ended(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().expect("a child");
        self.said.extend(self.lines.iter());
        (status, self.said.join("\n"))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A person and the operator of a node, who lets them in.
pub struct Pair {
    pub caller: World,
    pub operator: World,
    pub node: Node,
}

impl Pair {
    pub fn new() -> Self {
        Self::of(World::new(), World::new())
    }

    /// The caller names the node `gpu`, and may ask for all of `acme` and its own items.
    #[track_caller]
    pub fn of(caller: World, operator: World) -> Self {
        Self::with(caller, operator, &[])
    }

    /// As [`Pair::of`], with a node that is started with these options.
    #[track_caller]
    pub fn with(caller: World, operator: World, more: &[&str]) -> Self {
        let node = Node::start_with(&operator, more);
        add(&caller, "gpu", &node.at, &node.key);
        let pair = Self { caller, operator, node };
        trust(&pair.operator, &pair.caller);
        pair.authorize(SCOPES);
        pair
    }

    /// Says anew what the caller may ask for.
    #[track_caller]
    pub fn authorize(&self, scopes: &str) {
        authorize(&self.operator, &self.caller, scopes);
    }

    /// Runs an item of the caller's project on the node.
    pub fn run(&self, item: &str, more: &[&str]) -> (i32, Value) {
        self.caller.json(&[&["run", item, "--target", "remote:gpu"], more].concat())
    }

    /// Runs `directive:acme/go` on the node as a thread.
    pub fn fork(&self, more: &[&str]) -> (i32, Value) {
        self.run("directive:acme/go", &[&["--thread", "fork"], more].concat())
    }
}

/// All that the tests ask for.
pub const SCOPES: &str = "execute:tool:acme/**,execute:directive:acme/**,objects";

/// A caller names the node at an address.
#[track_caller]
pub fn add(caller: &World, name: &str, at: &str, key: &str) {
    caller.json(&["remote", "add", name, &format!("http://{at}"), "--node", key]).ok();
}

/// The key of a person as `rye remote add` shows it.
#[track_caller]
pub fn key_of(person: &World) -> String {
    let told = person.json(&["node", "identity"]).ok();
    told["key"].as_str().expect("a key").to_owned()
}

#[track_caller]
pub fn trust(operator: &World, signer: &World) {
    operator.json(&["trust", "add", &key_of(signer), "--owner", "laptop"]).ok();
}

/// The operator lets a person in, with the items that they signed.
#[track_caller]
pub fn authorize(operator: &World, caller: &World, scopes: &str) {
    let (key, own) = (key_of(caller), fingerprint(&caller.own_key()));
    let args = ["node", "authorize", &key, "--scopes", scopes, "--signers", &own];
    operator.json(&[&args[..], &["--name", "laptop"]].concat()).ok();
}
