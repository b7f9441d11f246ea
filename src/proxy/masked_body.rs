//! An answer's body without secrets, passed on as it comes.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming};

use super::message::Count;
use super::reach::Connection;
use crate::base::Mask;
use crate::base::mask::StreamMask;

/// A body in which no secret is left, also where it came in pieces. The tool that asked may have
/// chosen parts of it, so its pieces do not tell what begins like a secret: see
/// [`StreamMask::lagging`]. Trailers are left out.
pub(super) struct MaskedBody {
    body: Incoming,
    /// By which the body comes.
    _connection: Connection,
    /// `None` once the end was told.
    stream: Option<StreamMask<Arc<Mask>>>,
    /// Why the body broke off, to be told after what may still be shown.
    broken: Option<hyper::Error>,
    count: Arc<Count>,
}

impl MaskedBody {
    pub(super) fn new(
        body: Incoming,
        connection: Connection,
        mask: &Arc<Mask>,
        count: &Arc<Count>,
    ) -> Self {
        let stream = Some(StreamMask::lagging(mask.clone()));
        Self { body, _connection: connection, stream, broken: None, count: count.clone() }
    }
}

impl Body for MaskedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = &mut *self;
        while let Some(stream) = &mut this.stream {
            let shown = match std::task::ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(piece) => {
                        let length = piece.len() as u64;
                        this.count.received.fetch_add(length, Ordering::Relaxed);
                        stream.next(&piece)
                    }
                    Err(_) => continue,
                },
                Some(Err(error)) => {
                    this.broken = Some(error);
                    let rest = stream.end(true);
                    this.stream = None;
                    rest
                }
                None => {
                    let rest = stream.end(false);
                    this.stream = None;
                    rest
                }
            };
            if !shown.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(shown.into()))));
            }
        }
        Poll::Ready(this.broken.take().map(Err))
    }

    fn is_end_stream(&self) -> bool {
        self.stream.is_none() && self.broken.is_none()
    }
}
