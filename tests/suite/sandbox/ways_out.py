# Tried by a tool that lists some hosts. Each way gives the status that rye's proxy answered with,
# an error, or REACHED. A status of 200 is that of a tunnel or of an answer: the tool got out.
import base64
import concurrent.futures
import json
import os
import socket
import ssl
import urllib.error
import urllib.parse
import urllib.request

ONE, OTHER, PRIVATE = '93.184.216.34', '93.184.216.35', '192.168.7.7'
METADATA, PUBLIC_6 = '169.254.169.254', '2606:2800:220:1::1'
at = urllib.parse.urlsplit(os.environ['HTTPS_PROXY'])
TOKEN = base64.b64encode(f'{at.username}:{at.password}'.encode()).decode()
AUTH = f'Proxy-Authorization: Basic {TOKEN}\r\n'
socket.setdefaulttimeout(20)


def opened():
    return socket.create_connection((at.hostname, at.port))


def head(stream):
    got = b''
    while not got.endswith(b'\r\n\r\n') and len(got) < 65536:
        piece = stream.recv(1)
        if not piece:
            break
        got += piece
    return got.decode('latin-1').split('\r\n')[0]


def raw(text):
    """The first line of the answer to these bytes."""
    stream = opened()
    stream.sendall(text if isinstance(text, bytes) else text.encode('latin-1'))
    return head(stream) or 'closed'


def connect(to, host=None, auth=AUTH):
    return raw(f'CONNECT {to} HTTP/1.1\r\nHost: {host or to}\r\n{auth}\r\n')


def tunnel(to):
    stream = opened()
    stream.sendall(f'CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n{AUTH}\r\n'.encode())
    answer = head(stream)
    if ' 200' not in answer:
        raise OSError(answer)
    return stream


def greeted(to, name):
    """TLS in a tunnel, with another name in the greeting or none."""
    stream = tunnel(to)
    context = ssl.create_default_context(cafile='ca.pem')
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.wrap_socket(stream, server_hostname=name)
    return 'REACHED'


def spoken(to, said):
    """Something else than TLS in a tunnel."""
    stream = tunnel(to)
    stream.sendall(said)
    got = stream.recv(64)
    # The proxy says in plain words what it does not pass on.
    return 'closed' if not got or got.startswith(b'rye: ') else f'REACHED {got}'


def fetched(url):
    return str(urllib.request.urlopen(url).status)


def plain(request):
    """What a request in absolute form is answered, with what comes behind it."""
    stream = opened()
    stream.sendall(request.encode('latin-1'))
    stream.settimeout(2)
    got = b''
    try:
        while piece := stream.recv(4096):
            got += piece
    except TimeoutError:
        pass
    lines = [line for line in got.decode('latin-1').split('\r\n') if line.startswith('HTTP/')]
    return ' '.join(line.split(' ')[1] for line in lines)


def get(uri, more='', host=None):
    host = host or urllib.parse.urlsplit(uri).netloc
    return f'GET {uri} HTTP/1.1\r\nHost: {host}\r\n{AUTH}{more}\r\n'


def direct(family, address):
    stream = socket.socket(family, socket.SOCK_STREAM)
    stream.settimeout(3)
    stream.connect(address)
    return 'REACHED'


def datagram(address):
    stream = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stream.sendto(b'x', address)
    return 'sent'


def of_family(family, kind=socket.SOCK_STREAM, protocol=0):
    socket.socket(family, kind, protocol)
    return 'REACHED'


def bare(number):
    """A system call that makes no object of Python."""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, socket.AF_UNIX, socket.SOCK_STREAM, 0) >= 0:
        return 'REACHED'
    return os.strerror(ctypes.get_errno())


def uring():
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(425, 8, ctypes.create_string_buffer(256)) >= 0:
        return 'REACHED'
    return os.strerror(ctypes.get_errno())


CL_TE = (
    f'POST http://plain.example.org/ HTTP/1.1\r\nHost: plain.example.org\r\n{AUTH}'
    'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n'
    '0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: unlisted.example.org\r\n\r\n'
)
TE_TE = CL_TE.replace('Content-Length: 4\r\n', '').replace('chunked', 'chunked, identity')
WAYS = {
    'listed': lambda: fetched('https://api.example.org/'),
    'plain': lambda: fetched('http://plain.example.org/'),
    # Past the proxy
    'direct': lambda: direct(socket.AF_INET, (ONE, 443)),
    'direct other': lambda: direct(socket.AF_INET, (OTHER, 443)),
    'direct loopback of the machine': lambda: direct(socket.AF_INET, ('127.0.0.1', 8080)),
    'direct private': lambda: direct(socket.AF_INET, (PRIVATE, 443)),
    'direct metadata': lambda: direct(socket.AF_INET, (METADATA, 80)),
    'direct IPv6': lambda: direct(socket.AF_INET6, (PUBLIC_6, 443)),
    'direct IPv6 loopback': lambda: direct(socket.AF_INET6, ('::1', 443)),
    'UDP': lambda: datagram((ONE, 5353)),
    'DNS by hand': lambda: datagram((OTHER, 53)),
    'DNS of the system': lambda: str(socket.getaddrinfo('secret-in-a-name.example.org', 443)) + 'REACHED',
    'abstract socket': lambda: direct(socket.AF_UNIX, '\0rye-test-canary'),
    'socket in the project': lambda: direct(socket.AF_UNIX, os.getcwd() + '/canary.sock'),
    'unix datagrams': lambda: of_family(socket.AF_UNIX, socket.SOCK_DGRAM),
    'a bare unix socket': lambda: bare(41),
    'packets': lambda: of_family(17, socket.SOCK_RAW, 3),
    'raw IP': lambda: of_family(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
    'vsock': lambda: of_family(40),
    'bluetooth': lambda: of_family(31, socket.SOCK_RAW, 1),
    'kernel crypto': lambda: of_family(38, socket.SOCK_SEQPACKET),
    'io_uring': uring,
    # By names and ports that are not listed
    'unlisted name': lambda: connect('unlisted.example.org:443'),
    'unlisted name that is looked up': lambda: connect('secret-in-a-name.example.net:443'),
    'other port': lambda: connect('api.example.org:8443'),
    'port 22': lambda: connect('api.example.org:22'),
    'port 0': lambda: connect('api.example.org:0'),
    'port 65979, which is 443 in 16 bits': lambda: connect('api.example.org:65979'),
    'no port': lambda: connect('api.example.org'),
    'above a wildcard': lambda: connect('sub.example.org:443'),
    'beside a wildcard': lambda: connect('xsub.example.org:443'),
    'name that begins with a listed one': lambda: connect('api.example.org.evil.net:443'),
    'userinfo': lambda: connect('api.example.org@other.example.net:443'),
    'two ports': lambda: connect('api.example.org:443:80'),
    'null byte': lambda: connect('other.example.net\0.api.example.org:443'),
    'line end in the name': lambda: connect('api.example.org:443\r\nX: other.example.net:443'),
    'percent': lambda: connect('api.example%2eorg:443'),
    'Host is another': lambda: connect('other.example.net:443', 'api.example.org:443'),
    # By addresses
    'its own address': lambda: connect(f'{ONE}:443'),
    'other address': lambda: connect(f'{OTHER}:443'),
    'decimal address': lambda: connect('1572395043:443'),
    'hexadecimal address': lambda: connect('0x5db8d823:443'),
    'octal address': lambda: connect('0135.0270.0330.043:443'),
    'short address': lambda: connect('127.1:443'),
    'zero address': lambda: connect('0:443'),
    'IPv6 address': lambda: connect(f'[{PUBLIC_6}]:443'),
    'mapped address': lambda: connect(f'[::ffff:{OTHER}]:443'),
    'mapped loopback': lambda: connect('[::ffff:127.0.0.1]:443'),
    'address with a zone': lambda: connect('[fe80::1%lo]:443'),
    'metadata': lambda: connect(f'{METADATA}:80'),
    # By listed names that lead to what nobody may list by a name
    'name of loopback': lambda: connect('loop.example.org:443'),
    'name of zero': lambda: connect('zero.example.org:443'),
    'name of a private address': lambda: connect('private.example.org:443'),
    'name of the metadata': lambda: connect('metadata.example.org:443'),
    'name of the metadata over HTTP': lambda: plain(get('http://metadata.example.org/')),
    'name of IPv6 loopback': lambda: connect('six.example.org:443'),
    'name of a mapped address': lambda: connect('mapped.example.org:443'),
    'name of a translated address': lambda: connect('nat64.example.org:443'),
    'name that changes to loopback': lambda: [plain(get('http://rebinds.example.org/x')), plain(get('http://rebinds.example.org/y'))][1],
    # By what is said in a tunnel
    'another name in the greeting': lambda: greeted('api.example.org:443', 'other.example.net'),
    'no name in the greeting': lambda: greeted('api.example.org:443', None),
    'HTTP in a tunnel': lambda: spoken('api.example.org:443', b'GET / HTTP/1.1\r\nHost: api.example.org\r\n\r\n'),
    'SSH in a tunnel': lambda: spoken('api.example.org:443', b'SSH-2.0-x\r\n'),
    'a greeting without an end': lambda: spoken('api.example.org:443', b'\x16\x03\x01\xff\xff' + b'\x01' * 70000),
    # By requests that two readers may read in two ways
    'two Hosts': lambda: plain(get('http://plain.example.org/', 'Host: other.example.net\r\n')),
    'another Host': lambda: plain(get('http://plain.example.org/', host='other.example.net')),
    # The request itself is one that is listed; what lies in it must not become another.
    'once: length and chunks': lambda: plain(CL_TE),
    'once: a second request behind it': lambda: plain(get('http://plain.example.org/') + 'GET http://other.example.net/smuggled HTTP/1.1\r\nHost: other.example.net\r\n' + AUTH + '\r\n'),
    'once: a second request without the token': lambda: plain(get('http://plain.example.org/') + get('http://plain.example.org/smuggled').replace(AUTH, '')),
    'once: odd chunks': lambda: plain(TE_TE),
    'two lengths': lambda: plain(get('http://plain.example.org/', 'Content-Length: 1\r\nContent-Length: 40\r\n') + 'x' * 40),
    'folded header': lambda: plain(get('http://plain.example.org/', 'X: a\r\n b: c\r\n')),
    'space before the colon': lambda: plain(get('http://plain.example.org/', 'Transfer-Encoding : chunked\r\n')),
    'unlisted over HTTP': lambda: plain(get('http://other.example.net/')),
    'https in absolute form': lambda: plain(get('https://api.example.org/')),
    'userinfo over HTTP': lambda: plain(get('http://plain.example.org@other.example.net/')),
    'another scheme': lambda: plain(get('ftp://plain.example.org/')),
    'once: upgrade': lambda: plain(get('http://plain.example.org/', 'Connection: Upgrade\r\nUpgrade: websocket\r\n')),
    'what is asked of the proxy itself': lambda: plain(get('/', host='api.example.org')),
    'OPTIONS of all': lambda: raw(f'OPTIONS * HTTP/1.1\r\nHost: api.example.org\r\n{AUTH}\r\n'),
    'redirect to the metadata': lambda: fetched('http://plain.example.org/away'),
    # Without the run's token
    'no token': lambda: connect('api.example.org:443', auth=''),
    'wrong token': lambda: connect('api.example.org:443', auth='Proxy-Authorization: Basic cnllOng=\r\n'),
    'longer token': lambda: connect('api.example.org:443', auth=f'Proxy-Authorization: Basic {TOKEN}AAAA\r\n'),
    'token under another name': lambda: connect('api.example.org:443', auth=AUTH.replace('Proxy-Auth', 'Auth')),
}


def tried(way):
    try:
        return str(WAYS[way]())
    except urllib.error.HTTPError as error:
        return f'status {error.code}'
    except (OSError, ValueError) as error:
        return f'error {error}'


# Some wait until nobody answers.
with concurrent.futures.ThreadPoolExecutor(16) as pool:
    got = dict(zip(WAYS, pool.map(tried, WAYS)))
print(json.dumps(got))
