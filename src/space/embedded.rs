//! The system space: every file of the repository's `.ai`, in the binary.
//!
//! Generated: `UPDATE=1 cargo test` writes it, and a test compares it with the folder.
//! Sorted by path. `sha256` is what a reader of this table can check a file against.

/// One file, with its path below `.ai`.
pub(super) struct File {
    pub(super) path: &'static str,
    pub(super) bytes: &'static [u8],
    pub(super) sha256: &'static str,
}

#[rustfmt::skip]
pub(super) const EMBEDDED: &[File] = &[
    File { path: "tools/rye/bash.py", sha256: "795450bc746f01f85f605469690e30de9ab519c94f498f75322a4880b922b0a1",
        bytes: include_bytes!("../../.ai/tools/rye/bash.py") },
    File { path: "tools/rye/core/primitives/execute.yaml", sha256: "e20be89b6a552ceaa034d705365174e72bf5e4021d23c8b364a554a9df56e4b4",
        bytes: include_bytes!("../../.ai/tools/rye/core/primitives/execute.yaml") },
    File { path: "tools/rye/core/runtimes/native/program.yaml", sha256: "5c69fa35411bfee906316abc848be47190c84c2bf08daf5d5adff505f0bfb9f1",
        bytes: include_bytes!("../../.ai/tools/rye/core/runtimes/native/program.yaml") },
    File { path: "tools/rye/core/runtimes/node/node.yaml", sha256: "11e7014d0fb2bdbf45e8a347b4cd233030b15eef586c4e28f6bcf876d19cbb9b",
        bytes: include_bytes!("../../.ai/tools/rye/core/runtimes/node/node.yaml") },
    File { path: "tools/rye/core/runtimes/python/function.yaml", sha256: "7f4eadffd2a3e668159c11783a3804de9891bb1e02e7c6143501fb0d6f293254",
        bytes: include_bytes!("../../.ai/tools/rye/core/runtimes/python/function.yaml") },
    File { path: "tools/rye/core/runtimes/python/script.yaml", sha256: "44ec728593b6a9e52880851795330497f349a25f9388568512041ca1da65c5a2",
        bytes: include_bytes!("../../.ai/tools/rye/core/runtimes/python/script.yaml") },
    File { path: "tools/rye/core/runtimes/shell/script.yaml", sha256: "34054fda421de9e2ef965156ecb93ea0fe44e806505b5b9dd17b92bd8f42fd8f",
        bytes: include_bytes!("../../.ai/tools/rye/core/runtimes/shell/script.yaml") },
    File { path: "tools/rye/file-system/edit.py", sha256: "4d84c3896d118bbb3cd72dbdcf3dc3885f3dfc606dc4f49ee99e112a079eb21a",
        bytes: include_bytes!("../../.ai/tools/rye/file-system/edit.py") },
    File { path: "tools/rye/file-system/glob.py", sha256: "2e1c5af5a355ed0ae5ba9aeb500bb4b2a2b731ec3db5801adedd5b056f9e2090",
        bytes: include_bytes!("../../.ai/tools/rye/file-system/glob.py") },
    File { path: "tools/rye/file-system/grep.py", sha256: "4d87faa4e92ad951359e2f1f97dd2c5d1a5e08a7b24b7d7eff877d6b25dc5d12",
        bytes: include_bytes!("../../.ai/tools/rye/file-system/grep.py") },
    File { path: "tools/rye/file-system/list.py", sha256: "36196ade5e65d7e58c8d33a659ba50bebeddbc13da566ebea93e9a444b53593f",
        bytes: include_bytes!("../../.ai/tools/rye/file-system/list.py") },
    File { path: "tools/rye/file-system/read.py", sha256: "5a4ed078718996b488050afb8677c402b12c14f318db82a27e2878eec94d6e5c",
        bytes: include_bytes!("../../.ai/tools/rye/file-system/read.py") },
    File { path: "tools/rye/file-system/write.py", sha256: "7359df533e842d97ccae7815da285c61f75257b59b5641f4bbd308ecb16f67e2",
        bytes: include_bytes!("../../.ai/tools/rye/file-system/write.py") },
];
