//! No server outlives the command that started it, however that ends (exec-protocol 3.5).

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{nothing_is_left, server, signed, world};
use crate::world::World;
use crate::world::wait::until;

/// A server that ends neither with its input nor when it is asked to, and has a child that does not
/// either; it tells the project that it was asked.
fn stubborn(cases: &str) -> String {
    let begin = "#!/bin/sh\ntrap '' TERM INT HUP QUIT\nsleep 600 &\n";
    format!("{begin}{}while :; do sleep 0.1; done\n", server(cases))
}

fn start(world: &World, item: &str) -> Child {
    let mut command = world.command(&["execute", item, "--json"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

#[track_caller]
fn send(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// The signal that ended it; it has a time.
#[track_caller]
fn ended(child: &mut Child) -> Option<i32> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.signal();
        }
        assert!(start.elapsed() < Duration::from_secs(15), "it does not end");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

#[test]
fn f06_a_signal_at_any_time_of_a_call_ends_its_server_and_then_rye_by_that_signal() {
    {
        let world = world();
        let script = stubborn("*) : >\"$RYE_PROJECT/asked\"; sleep 600;;");
        signed(&world, "stuck", "server", "timeout_ms: 60000", &script);
        for (signal, number) in [("-INT", 2), ("-TERM", 15)] {
            let mut child = start(&world, "acme/stuck");
            let asked = world.project().join("asked");
            until("it is asked", || asked.exists());
            send(&child, signal);
            assert_eq!(ended(&mut child), Some(number));
            nothing_is_left(world.outside());
            std::fs::remove_file(asked).unwrap();
        }
    }
    {
        let world = world();
        // More than a pipe holds, so that rye waits for whoever reads.
        let script = stubborn(
            "*) x=xxxxxxxxxxxxxxxx; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do x=$x$x; done
         echo \"{\\\"id\\\":$id,\\\"result\\\":\\\"$x\\\"}\"; continue;;",
        );
        signed(&world, "wide", "server", "", &script);
        let mut child = start(&world, "acme/wide");
        let mut begin = [0; 16];
        child.stdout.as_mut().unwrap().read_exact(&mut begin).unwrap();
        send(&child, "-INT");
        assert_eq!(ended(&mut child), Some(2));
        until("no process is left", || super::processes(world.outside()).is_empty());
        // Its private folder is swept by whoever comes next.
        signed(&world, "next", "oneshot", "", "#!/bin/sh\necho '{\"result\": 1}'\n");
        world.works("acme/next");
        nothing_is_left(world.outside());
    }
    {
        let world = world();
        signed(&world, "stays", "server", "", &stubborn(""));
        let mut child = start(&world, "acme/stays");
        let mut said = Vec::new();
        let out = child.stdout.as_mut().unwrap();
        while !said.contains(&b'\n') {
            let mut piece = [0; 4096];
            let read = out.read(&mut piece).unwrap();
            assert!(read > 0, "{}", String::from_utf8_lossy(&said));
            said.extend_from_slice(&piece[..read]);
        }
        let start = Instant::now();
        std::thread::park_timeout(Duration::from_millis(100));
        send(&child, "-INT");
        assert_eq!(ended(&mut child), Some(2), "a signal is nobody's to keep");
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
        nothing_is_left(world.outside());
    }
}

#[test]
fn a_command_ends_with_its_server_and_says_what_it_answered() {
    let world = world();
    signed(&world, "polite", "server", "", &server(""));
    signed(&world, "stays", "server", "", &stubborn(""));
    for (item, most) in [("acme/polite", 1.9), ("acme/stays", 9.0)] {
        let start = Instant::now();
        world.rye(&["execute", item, "--json"]).ok();
        assert!(start.elapsed().as_secs_f64() < most, "{item}: {:?}", start.elapsed());
        nothing_is_left(world.outside());
    }
}

#[test]
fn f06_a_server_whose_host_was_killed_is_told_by_the_end_of_its_input() {
    let world = world();
    let script = server("*) : >\"$RYE_PROJECT/asked\"; while read -r line; do :; done; exit;;");
    signed(&world, "waits", "server", "timeout_ms: 60000", &script);
    let mut child = start(&world, "acme/waits");
    until("it is asked", || world.project().join("asked").exists());
    send(&child, "-KILL");
    assert_eq!(ended(&mut child), Some(9));
    until("it ended by itself", || super::processes(world.outside()).is_empty());
}
