//! Files that start a node: for systemd, and for a container.

use std::path::Path;

/// A unit of systemd for the operator's own services, with the options of `rye serve`.
pub(crate) fn unit(program: &Path, options: &str) -> String {
    format!(
        "# ~/.config/systemd/user/rye-node.service\n\
         # systemctl --user enable --now rye-node; loginctl enable-linger\n\
         [Unit]\n\
         Description=rye node\n\
         After=network-online.target\n\
         \n\
         [Service]\n\
         ExecStart={} serve {options}\n\
         # Runs that go on get ten minutes to end.\n\
         TimeoutStopSec=640\n\
         # Detached runs go on without the node.\n\
         KillMode=process\n\
         Restart=on-failure\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        program.display()
    )
}

/// A container that runs a node. The operator's home is a volume, which holds the key.
pub(crate) const CONTAINERFILE: &str = "\
# podman build -t rye-node .
# podman run -v rye-home:/home/rye -p 8700:8700 \\
#     -v ./cert.pem:/run/secrets/cert.pem:ro -v ./key.pem:/run/secrets/key.pem:ro rye-node
FROM docker.io/library/debian:stable-slim
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap ca-certificates \\
 && rm -rf /var/lib/apt/lists/* && useradd --create-home rye
COPY rye /usr/local/bin/rye
USER rye
WORKDIR /home/rye
VOLUME /home/rye
EXPOSE 8700
STOPSIGNAL SIGTERM
CMD [\"rye\", \"serve\", \"--listen\", \"0.0.0.0:8700\", \"--tls-cert\", \"/run/secrets/cert.pem\", \"--tls-key\", \"/run/secrets/key.pem\"]
";
