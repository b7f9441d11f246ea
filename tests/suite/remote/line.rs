//! A line between a caller and a node that a test listens to, cuts, and leads to another node.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Where a line breaks.
#[derive(Debug, Clone)]
pub struct Cut {
    /// How the request begins that it breaks at.
    pub request: &'static str,
    /// It breaks in the answer, and else in the request.
    pub in_answer: bool,
    /// So many bytes come through.
    pub after: usize,
    /// So often it breaks.
    pub times: usize,
}

/// A running line; dropping it ends it.
pub struct Line {
    /// Its address, as `127.0.0.1:8700`.
    pub at: String,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    to: Mutex<String>,
    cut: Mutex<Option<Cut>>,
    /// The first lines of the requests so far.
    asked: Mutex<Vec<String>>,
    /// The callers' ends.
    open: Mutex<Vec<TcpStream>>,
    has_ended: AtomicBool,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Line {
    /// A line to this address.
    pub fn to(node: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = listener.local_addr().expect("an address").to_string();
        let line = Self { at, shared: Arc::default() };
        line.lead_to(node);
        let shared = Arc::clone(&line.shared);
        thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                if shared.has_ended.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.carry(stream));
            }
        });
        line
    }

    /// From now on it leads to this address.
    pub fn lead_to(&self, node: &str) {
        node.clone_into(&mut locked(&self.shared.to));
    }

    pub fn cut(&self, cut: Cut) {
        *locked(&self.shared.cut) = Some(cut);
    }

    /// Breaks every connection that there is.
    pub fn break_all(&self) {
        for stream in std::mem::take(&mut *locked(&self.shared.open)) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    /// How often it has still to break.
    pub fn cuts_left(&self) -> usize {
        locked(&self.shared.cut).as_ref().map_or(0, |cut| cut.times)
    }

    /// How many requests since the last look began so.
    pub fn asked(&self, begin: &str) -> usize {
        let asked = std::mem::take(&mut *locked(&self.shared.asked));
        asked.iter().filter(|line| line.starts_with(begin)).count()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(&self.at));
    }
}

impl Shared {
    /// Carries one request and its answer.
    fn carry(&self, mut caller: TcpStream) {
        let Ok(mut node) = TcpStream::connect(&*locked(&self.to)) else { return };
        let mut piece = vec![0; 64 << 10];
        let Ok(read @ 1..) = caller.read(&mut piece) else { return };
        piece.truncate(read);
        let head = String::from_utf8_lossy(&piece).lines().next().unwrap_or_default().to_owned();
        let cut = self.cut_at(&head);
        locked(&self.asked).push(head);
        let (asked, answered) = match cut {
            None => (usize::MAX, usize::MAX),
            Some(Cut { in_answer: true, after, .. }) => (usize::MAX, after),
            Some(Cut { after, .. }) => (after, usize::MAX),
        };
        let (Ok(mut from), Ok(mut to)) = (caller.try_clone(), node.try_clone()) else { return };
        locked(&self.open).extend(caller.try_clone());
        thread::scope(|both| {
            both.spawn(move || {
                carry(&mut from, &mut to, piece, asked);
            });
            carry(&mut node, &mut caller, Vec::new(), answered);
        });
    }

    fn cut_at(&self, head: &str) -> Option<Cut> {
        let mut next = locked(&self.cut);
        let cut = next.as_mut().filter(|cut| cut.times > 0 && head.starts_with(cut.request))?;
        cut.times -= 1;
        Some(cut.clone())
    }
}

/// Carries what one end says to the other, at most so many bytes; then both ends are closed.
fn carry(from: &mut TcpStream, to: &mut TcpStream, mut piece: Vec<u8>, mut most: usize) {
    loop {
        let now = piece.len().min(most);
        most -= now;
        let sent = to.write_all(&piece[..now]);
        if sent.is_err() || most == 0 {
            break;
        }
        piece.resize(64 << 10, 0);
        match from.read(&mut piece) {
            Ok(read @ 1..) => piece.truncate(read),
            _ => break,
        }
    }
    drop(from.shutdown(Shutdown::Both));
    drop(to.shutdown(Shutdown::Both));
}
