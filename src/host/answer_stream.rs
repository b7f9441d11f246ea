//! One HTTP exchange whose answer is handed over piece by piece.
//!
//! As in `exchange.rs`, it is talked on a thread of its own, which ends with the connection.

use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use ureq::Agent;

use super::exchange::{agent, send};
use super::exchange_fault::fault;
use super::net::{AnswerPart, HttpCall, NetFault, listen};
use super::signals::Signals;
use crate::base::durations::NET_GRACE_MS;

/// Pieces that wait to be taken; then the server waits too.
const WAITING: usize = 16;
/// Bytes that are read at once.
const PIECE: usize = 16 << 10;

/// A message of the talking thread.
enum Told {
    Head { status: u16, headers: Vec<(String, Vec<u8>)> },
    Body(Vec<u8>),
    End(Result<(), NetFault>),
}

/// Sends one request and hands its answer over as it comes; see [`super::Host::stream`].
pub(super) fn stream(
    call: &HttpCall,
    take: &mut dyn FnMut(AnswerPart<'_>) -> ControlFlow<()>,
) -> Result<(), NetFault> {
    let broken = |error: io::Error| NetFault::Broken(error.to_string());
    let signals = Signals::listen().map_err(broken)?;
    let agent = agent(call)?;
    let (mut ended, at_end) = UnixStream::pair().map_err(broken)?;
    ended.set_nonblocking(true).map_err(broken)?;
    at_end.set_nonblocking(true).map_err(broken)?;
    let (tell, told) = sync_channel(WAITING);
    let (talker, theirs) = (agent.clone(), call.clone());
    let talk = move || Talker { tell, wake: at_end }.talk(&talker, &theirs);
    std::thread::Builder::new().spawn(talk).map_err(broken)?;
    let came = hear(&signals, call, &mut ended, &told, take);
    // Also if the caller does not want the rest: a name being looked up cannot be stopped, only
    // left.
    agent.shutdown();
    came
}

fn hear(
    signals: &Signals,
    call: &HttpCall,
    ended: &mut UnixStream,
    told: &Receiver<Told>,
    take: &mut dyn FnMut(AnswerPart<'_>) -> ControlFlow<()>,
) -> Result<(), NetFault> {
    // The library keeps the time itself; the grace lets its own answer come first.
    let until = call.until + Duration::from_millis(NET_GRACE_MS);
    let mut woken = [0; 64];
    loop {
        // What wakes the listener comes behind what it is woken for.
        while matches!(ended.read(&mut woken), Ok(1..)) {}
        let next = told.try_recv();
        // Looked at between any two pieces: a server that sends without end is left as well.
        let wait_until = if next.is_ok() { Instant::now() } else { until };
        let flow = match next {
            Ok(Told::Head { status, headers }) => {
                take(AnswerPart::Head { status, headers: &headers })
            }
            Ok(Told::Body(bytes)) => take(AnswerPart::Body(&bytes)),
            Ok(Told::End(came)) => return came,
            Err(TryRecvError::Empty) => ControlFlow::Continue(()),
            Err(TryRecvError::Disconnected) => {
                return Err(NetFault::Broken("a bug in rye ended it".into()));
            }
        };
        if flow.is_break() {
            return Ok(());
        }
        let heard = listen(signals, Some(ended), wait_until);
        let signal = heard.map_err(|error| NetFault::Broken(error.to_string()))?;
        if let Some(signal) = signal {
            return Err(NetFault::Interrupted(signal));
        }
        // Asked of the clock: there is something to hear at every look during a flood.
        if Instant::now() >= until {
            return Err(NetFault::TimedOut);
        }
    }
}

struct Talker {
    tell: SyncSender<Told>,
    wake: UnixStream,
}

impl Talker {
    fn talk(mut self, agent: &Agent, call: &HttpCall) {
        let came = self.answer(agent, call);
        let _ = self.tell(Told::End(came));
    }

    fn answer(&mut self, agent: &Agent, call: &HttpCall) -> Result<(), NetFault> {
        let failed = |error| fault(error, call);
        let (head, body) = send(agent, call)?.into_parts();
        let headers = head.headers.iter();
        let headers = headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
        let head = Told::Head { status: head.status.as_u16(), headers: headers.collect() };
        if self.tell(head).is_err() {
            return Ok(());
        }
        let mut body = body.into_reader();
        let (mut piece, mut read) = (vec![0; PIECE], 0);
        loop {
            let length = match body.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed(error.into())),
            };
            read += length;
            if read > call.body_cap {
                let why = format!("it has more than {} bytes", call.body_cap);
                return Err(NetFault::Broken(why));
            }
            if self.tell(Told::Body(piece[..length].to_vec())).is_err() {
                return Ok(());
            }
        }
    }

    /// # Errors
    /// The listener is gone.
    fn tell(&mut self, told: Told) -> Result<(), ()> {
        self.tell.send(told).map_err(|_| ())?;
        // Where it has no room, the listener has not looked yet, and will.
        let _ = self.wake.write(&[0]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::ops::ControlFlow;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::{Duration, Instant};

    use crate::host::{AnswerPart, Host, HttpCall, NetFault, NetSettings, Os};

    const PATIENCE: Duration = Duration::from_mins(1);

    /// A server for one request, which sends these pieces and waits; it tells when it is left.
    fn server(pieces: &'static [&'static str]) -> (String, Receiver<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (tell, left) = channel();
        std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut asked = [0; 4096];
            let _ = client.read(&mut asked).unwrap();
            for piece in pieces {
                client.write_all(piece.as_bytes()).unwrap();
                client.flush().unwrap();
                std::thread::sleep(Duration::from_millis(30));
            }
            while client.read(&mut asked).is_ok_and(|read| read > 0) {}
            let _ = tell.send(());
        });
        (url, left)
    }

    fn call(url: String, time: Duration, body_cap: usize) -> HttpCall {
        HttpCall {
            method: "POST",
            url,
            headers: Vec::new(),
            body: None,
            until: Instant::now() + time,
            connect_timeout: PATIENCE,
            body_cap,
            way: NetSettings::default(),
        }
    }

    const HEAD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n";

    #[test]
    fn pieces_come_before_the_end_and_whoever_has_enough_closes_the_connection() {
        let (url, left) = server(&[HEAD, "3\r\nabc\r\n", "3\r\ndef\r\n", "3\r\nghi\r\n"]);
        let (mut came, mut told) = (String::new(), 0);
        let ended = Os::new(false).stream(&call(url, PATIENCE, 100), &mut |part| {
            match part {
                AnswerPart::Head { status, headers } => {
                    assert!(headers.contains(&("x-a".into(), b"b".to_vec())));
                    told = status;
                }
                AnswerPart::Body(bytes) => came.push_str(std::str::from_utf8(bytes).unwrap()),
            }
            match came.contains("def") {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        assert_eq!((ended, told), (Ok(()), 200));
        assert!(came.starts_with("abcdef"), "{came}");
        left.recv_timeout(PATIENCE).unwrap();
    }

    #[test]
    fn past_its_time_and_past_its_cap_an_answer_is_left() {
        let (url, left) = server(&[HEAD, "3\r\nabc\r\n"]);
        let mut read = 0;
        let mut count = |part: AnswerPart<'_>| {
            if let AnswerPart::Body(bytes) = part {
                read += bytes.len();
            }
            ControlFlow::Continue(())
        };
        let call_of = |url, cap| call(url, Duration::from_secs(1), cap);
        let ended = Os::new(false).stream(&call_of(url, 100), &mut count);
        assert_eq!(ended, Err(NetFault::TimedOut));
        left.recv_timeout(PATIENCE).unwrap();
        let (url, left) = server(&[HEAD, "6\r\nabcdef\r\n", "6\r\nabcdef\r\n"]);
        let ended = Os::new(false).stream(&call_of(url, 10), &mut count);
        assert_eq!(ended, Err(NetFault::Broken("it has more than 10 bytes".into())));
        left.recv_timeout(PATIENCE).unwrap();
        assert!(read <= 3 + 10, "no more than the cap was handed over: {read}");
    }

    #[test]
    fn an_answer_that_comes_faster_than_it_is_read_is_left_when_its_time_is_over() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let flood = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let _ = client.read(&mut [0; 4096]).unwrap();
            client.write_all(HEAD.as_bytes()).unwrap();
            let piece = format!("4000\r\n{}\r\n", "a".repeat(0x4000));
            while client.write_all(piece.as_bytes()).is_ok() {}
        });
        let mut slowly = |_: AnswerPart<'_>| {
            std::thread::sleep(Duration::from_millis(2));
            ControlFlow::Continue(())
        };
        let asked = call(url, Duration::from_millis(200), 64 << 20);
        assert_eq!(Os::new(false).stream(&asked, &mut slowly), Err(NetFault::TimedOut));
        flood.join().unwrap();
    }
}
