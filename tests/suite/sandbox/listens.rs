//! `sandbox.net: {listen: […]}`: a port of this machine that leads into the tool's network.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use super::{BWRAP, doer, does, works};
use crate::world::World;
use crate::world::wait::until;

/// Serves what its calls outwards came to at the first port, and something at the second.
const SERVES: &str = "
import http.server, threading
port, other, outside = PORTS
def call(address):
    try:
        return socket.create_connection(address, 5) and 'reached'
    except OSError as error:
        return 'refused'
said = ' '.join(map(call, [('127.0.0.1', outside), ('93.184.216.34', 80)])).encode()
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(said)
def serve(port):
    http.server.ThreadingHTTPServer(('127.0.0.1', port), Answer).serve_forever()
threading.Thread(target=serve, args=[other]).start()
serve(port)
";

fn port(listener: &TcpListener) -> u16 {
    listener.local_addr().expect("an address").port()
}

fn asked(port: u16) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

#[test]
fn a_port_that_a_tool_listens_on_leads_to_it_and_no_other_way_does() {
    if !works("a_port_that_a_tool_listens_on_leads_to_it_and_no_other_way_does", BWRAP) {
        return;
    }
    let world = World::new().held();
    let any = || TcpListener::bind("127.0.0.1:0").expect("a port");
    let (listener, other, outside) = (any(), any(), any());
    let ports = [port(&listener), port(&other), port(&outside)];
    doer(&world, "serves", &format!("sandbox = {{net = {{listen = [{}]}}}}", ports[0]));
    let (said, status) = does(&world, "serves", BWRAP, "print('it ran')");
    let error = said["error"].to_string();
    assert!(status == 6 && error.contains(&format!("port {}", ports[0])), "{status} {said:#}");
    drop((listener, other));
    let code = format!("code={}", SERVES.replace("PORTS", &format!("{ports:?}")));
    let mut child = world.start(&["execute", "serves", "--sandbox", BWRAP, "-i", &code]);
    let mut first = String::new();
    until("the tool answers", || {
        first = asked(ports[0]).unwrap_or_default();
        !first.is_empty()
    });
    assert!(first.ends_with("\r\n\r\nrefused refused"), "{first}");
    // More than can be open at once.
    for _ in 0..40 {
        assert_eq!(asked(ports[0]).expect("an answer").lines().last(), first.lines().last());
    }
    assert!(TcpStream::connect(("127.0.0.1", ports[1])).is_err(), "its other port stays inside");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    until("the port is free", || TcpListener::bind(("127.0.0.1", ports[0])).is_ok());
    let (said, status) = does(&world, "serves", BWRAP, "print('\"it ran\"')");
    assert_eq!((status, said["data"].as_str()), (0, Some("it ran")), "{said:#}");
    let net = &said["metadata"]["sandbox"]["net"];
    assert_eq!(*net, serde_json::json!({"listen": [ports[0]]}));
}
