//! The system space: every file of the repository's `.ai`, in the binary.
//!
//! Generated: `UPDATE=1 cargo test` writes it, and a test compares it with the folder.
//! Sorted by path. The digest beside a path is for readers: a change to an item shows here.

/// One file, with its path below `.ai`.
pub(super) struct File {
    pub(super) path: &'static str,
    pub(super) bytes: &'static [u8],
}

#[rustfmt::skip]
pub(super) const EMBEDDED: &[File] = &[
    // d91f0620c90f228bcac5ce942ab6756653aa455d4f424e8e5bb00247f9a966f1
    File { path: "config/execution/execution.yaml", bytes: include_bytes!("../../.ai/config/execution/execution.yaml") },
    // d84bb3fe0b774eb66b74201552d0789c15c53682fe4a3e18a9bc2efe87fd391f
    File { path: "directives/rye/core/create_directive.md", bytes: include_bytes!("../../.ai/directives/rye/core/create_directive.md") },
    // af2eb8ad0035e839b6a071b60bba4a58d3604bd1cda1276d569e720319287696
    File { path: "directives/rye/core/create_tool.md", bytes: include_bytes!("../../.ai/directives/rye/core/create_tool.md") },
    // ae6f7122724292886f688402c5513df38c35126e08573551bb721902a3cc1cd0
    File { path: "directives/rye/core/init.md", bytes: include_bytes!("../../.ai/directives/rye/core/init.md") },
    // 417571415099a596ac9a9b9e3b6ff968258af6637147d82e3e4e9b94ffa858a2
    File { path: "directives/rye/core/review_item.md", bytes: include_bytes!("../../.ai/directives/rye/core/review_item.md") },
    // b058cad2c4fcd5ec7f93e24bc90cf89df28fd7ac5ae9ec5a9b3d5796c8ece754
    File { path: "knowledge/rye/agents.md", bytes: include_bytes!("../../.ai/knowledge/rye/agents.md") },
    // 989c9d13522b3ff0f5fba2ded889fc6e5abede8cdb66e5effcb9b4052ffb897f
    File { path: "knowledge/rye/bundles.md", bytes: include_bytes!("../../.ai/knowledge/rye/bundles.md") },
    // 00dd175a4e26dfb081480b4150ebbcd9bfff9c17e681e7397ee411c9ad670fac
    File { path: "knowledge/rye/changelog.md", bytes: include_bytes!("../../.ai/knowledge/rye/changelog.md") },
    // 1f89d50ac9e5226c177cf9f8f518e914152a6b7f45bde2ae503805f535e28375
    File { path: "knowledge/rye/comparison.md", bytes: include_bytes!("../../.ai/knowledge/rye/comparison.md") },
    // c07db9f377e6973bdd16b73269f00cdc8b22db27923721c939ba93290a0a4669
    File { path: "knowledge/rye/contributing.md", bytes: include_bytes!("../../.ai/knowledge/rye/contributing.md") },
    // c8b3fa2adec0785714738479da808d8488008ff16978ea591427e17e5980fee9
    File { path: "knowledge/rye/dev.md", bytes: include_bytes!("../../.ai/knowledge/rye/dev.md") },
    // 4f3f63afbdd05679d46ba41eb6b357ebdefb5f1cd6df508442c2fa445f68f769
    File { path: "knowledge/rye/directives.md", bytes: include_bytes!("../../.ai/knowledge/rye/directives.md") },
    // 760f864a43e5d95cba279030a7596aa94eb5c80c360677fe9dd5819a6f351f27
    File { path: "knowledge/rye/editors.md", bytes: include_bytes!("../../.ai/knowledge/rye/editors.md") },
    // 036f70e44caca5137137181de0b1a9e83b4dca9c9392c27ff1bfd9ab81fa5f7a
    File { path: "knowledge/rye/errors.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors.md") },
    // 8b2514ca76ca8b0aeb35d44d9d6f65699007a9738935f663a0b73278930306f3
    File { path: "knowledge/rye/exec-protocol.md", bytes: include_bytes!("../../.ai/knowledge/rye/exec-protocol.md") },
    // 049ef7a4c0a5a852e44bc234ba64d280faca567369ee5df2ad3da91635abcd17
    File { path: "knowledge/rye/git.md", bytes: include_bytes!("../../.ai/knowledge/rye/git.md") },
    // e24a6397a1eecf75496bf2caaf663c25c960371feb6f8c3573be6944ef3a466c
    File { path: "knowledge/rye/glossary.md", bytes: include_bytes!("../../.ai/knowledge/rye/glossary.md") },
    // 97634b620f868768f5f1ac864eec20ad5eca5ca8c04b67562721634be9daa37d
    File { path: "knowledge/rye/lock.md", bytes: include_bytes!("../../.ai/knowledge/rye/lock.md") },
    // 99fe47103fffda6f5afe8fbc653a828514cfb7702190a5eda1242540bea13823
    File { path: "knowledge/rye/mcp-client.md", bytes: include_bytes!("../../.ai/knowledge/rye/mcp-client.md") },
    // b3e2f8e55a0aabda4cda4eb6c8d9ef5ebf45660939bb973888fd7aa07057b713
    File { path: "knowledge/rye/overview.md", bytes: include_bytes!("../../.ai/knowledge/rye/overview.md") },
    // f0a7da44378d8ce2265d4808573da6daa4d01c84483ab553031e01827bcdad47
    File { path: "knowledge/rye/receipts.md", bytes: include_bytes!("../../.ai/knowledge/rye/receipts.md") },
    // 4ff91719a15a662a41a3f44caa7ed396cc02c53ffa807861a78ee779d20add2d
    File { path: "knowledge/rye/sandbox.md", bytes: include_bytes!("../../.ai/knowledge/rye/sandbox.md") },
    // d207d30513e8b8a2cb22bf78857297be5353d2b457b0044b6d5ef1d7cd133df7
    File { path: "knowledge/rye/search.md", bytes: include_bytes!("../../.ai/knowledge/rye/search.md") },
    // 49cbf18846af6c92bdc594e2eb36469a86a6214e51202912e2a6ab2328825637
    File { path: "knowledge/rye/signature-format.md", bytes: include_bytes!("../../.ai/knowledge/rye/signature-format.md") },
    // a2467bc4a8a3bcdf60d9b5592deaad13b69cfeca9418f016a57b781320ab8e5d
    File { path: "knowledge/rye/spec/attacks.md", bytes: include_bytes!("../../.ai/knowledge/rye/spec/attacks.md") },
    // c111afb29285ece08725107e746040d8df1e42104f0b5aa332261e4f81ff27bb
    File { path: "knowledge/rye/spec/code-mode.md", bytes: include_bytes!("../../.ai/knowledge/rye/spec/code-mode.md") },
    // 9bf3fff63e418719c6440c0654acfbed0f3d69baa1fee9d6bff4e4f9b6999c81
    File { path: "knowledge/rye/spec/core.md", bytes: include_bytes!("../../.ai/knowledge/rye/spec/core.md") },
    // f51a9df6cf03481bbfba0ac1b7e9fd8504c9e334c50b5d050196a50847635a95
    File { path: "knowledge/rye/spec/exec-protocol.md", bytes: include_bytes!("../../.ai/knowledge/rye/spec/exec-protocol.md") },
    // 93091d174324dc0bbe50a9c02474856c7f5e8636d66eb7936b54aff366a2f925
    File { path: "knowledge/rye/spec/legacy.md", bytes: include_bytes!("../../.ai/knowledge/rye/spec/legacy.md") },
    // 4dbe45b7a07d269ef53fe2407bdd1fb988d80b26f7efb65ef91469a2f573260f
    File { path: "knowledge/rye/spec/mcp.md", bytes: include_bytes!("../../.ai/knowledge/rye/spec/mcp.md") },
    // 0822029233678967811c381487a74ba2b7204cb9f74784d95f274b13b28efd13
    File { path: "knowledge/rye/spec/performance.md", bytes: include_bytes!("../../.ai/knowledge/rye/spec/performance.md") },
    // b5a79165d768fd466e86da718bcb4e892b7165d6f3cde0a739c4c00c9fe7327d
    File { path: "knowledge/rye/spec/remote.md", bytes: include_bytes!("../../.ai/knowledge/rye/spec/remote.md") },
    // 256254a1c84179eac13050ecef9bae393c519924b4333b6a1931136150f527d0
    File { path: "knowledge/rye/spec/sandbox.md", bytes: include_bytes!("../../.ai/knowledge/rye/spec/sandbox.md") },
    // d3f327fdf11c4ddbc52e6fd7cb137a6dab8cdd4190d4f5fbef56909835d92e54
    File { path: "knowledge/rye/spec/threads.md", bytes: include_bytes!("../../.ai/knowledge/rye/spec/threads.md") },
    // 11115effcd8760b8d35444e393418632dc6c5418ef116bcbe2c1d87d87144d71
    File { path: "knowledge/rye/speed.md", bytes: include_bytes!("../../.ai/knowledge/rye/speed.md") },
    // 180b65d6e3050d1717378a40e21e159754040ba2a4eddee04eb79e46f6e4a70a
    File { path: "knowledge/rye/testing.md", bytes: include_bytes!("../../.ai/knowledge/rye/testing.md") },
    // e70885749dfbbc5f0a4ca99d0041adaaee683978dba2eb5397cb7feb222cf345
    File { path: "knowledge/rye/threat-model.md", bytes: include_bytes!("../../.ai/knowledge/rye/threat-model.md") },
    // b0c27eabd1022e9a3b3862b044dcbd1b0d9fb0b2b69c6895e2ff0dd3be55a0ab
    File { path: "knowledge/rye/tools.md", bytes: include_bytes!("../../.ai/knowledge/rye/tools.md") },
    // 389b41b0177597a2d03a43ea2c569e396894f666670a6e2acf3f46e921c41ac9
    File { path: "knowledge/rye/tour.md", bytes: include_bytes!("../../.ai/knowledge/rye/tour.md") },
    // fa6ae3c7e83cbc5d9727485fb6b82ee2940c76139fa0b80897f7780813998cf5
    File { path: "tools/rye/bash.py", bytes: include_bytes!("../../.ai/tools/rye/bash.py") },
    // 007608bb2413a8146c1116b19f99a068bd130f2bf4749109128270f352036618
    File { path: "tools/rye/core/primitives/execute.yaml", bytes: include_bytes!("../../.ai/tools/rye/core/primitives/execute.yaml") },
    // ec19edc615f8f968597d1a6ecbcfc7bef77d5779b29eaaf6d289f0316169e2f9
    File { path: "tools/rye/core/primitives/http_client.yaml", bytes: include_bytes!("../../.ai/tools/rye/core/primitives/http_client.yaml") },
    // e518ab5a434de3a35ef7fd0719a455da3c6563c1fe506c59a2bc96a504f917aa
    File { path: "tools/rye/core/primitives/mcp.yaml", bytes: include_bytes!("../../.ai/tools/rye/core/primitives/mcp.yaml") },
    // 129176598b53cb1bd36ec20122b967ccb9f9e728d8140b829067266c561ee21f
    File { path: "tools/rye/core/runtimes/exec/oneshot.yaml", bytes: include_bytes!("../../.ai/tools/rye/core/runtimes/exec/oneshot.yaml") },
    // 9d9c56b6a72b0959a30837ee80b0bd5e25f5f91f667f270da6ede032e6702cea
    File { path: "tools/rye/core/runtimes/exec/server.yaml", bytes: include_bytes!("../../.ai/tools/rye/core/runtimes/exec/server.yaml") },
    // e33cccc7002730b30fa513db32a6c23b2b977bf6ad294fcdcf55e0857ddfae17
    File { path: "tools/rye/core/runtimes/http/request.yaml", bytes: include_bytes!("../../.ai/tools/rye/core/runtimes/http/request.yaml") },
    // fd0c74c5fe1c658975dc31b6b8fec99ac62cafb2c1d10e48a83e06aa76594d5c
    File { path: "tools/rye/core/runtimes/mcp/tool.yaml", bytes: include_bytes!("../../.ai/tools/rye/core/runtimes/mcp/tool.yaml") },
    // 519f24db889ed36a3a93db53c1be00a6f6667d71eb077592a749037f281750dd
    File { path: "tools/rye/core/runtimes/native/program.yaml", bytes: include_bytes!("../../.ai/tools/rye/core/runtimes/native/program.yaml") },
    // 1eba8994ee5457cff09297526cb9f62b0241c7369bbc6c825e93f4375770d4e4
    File { path: "tools/rye/core/runtimes/node/lib/guard.cjs", bytes: include_bytes!("../../.ai/tools/rye/core/runtimes/node/lib/guard.cjs") },
    // 2fe98dd7da7503b4ebf70082e9da73c370300b388c48885927f8f0bea37dd4ec
    File { path: "tools/rye/core/runtimes/node/node.yaml", bytes: include_bytes!("../../.ai/tools/rye/core/runtimes/node/node.yaml") },
    // 30f9b1d9f9c89424c68fb723b309c0f63f395be887eb5cf71ef24d56921410f1
    File { path: "tools/rye/core/runtimes/python/function.yaml", bytes: include_bytes!("../../.ai/tools/rye/core/runtimes/python/function.yaml") },
    // 4cc5cc96a33c083e2d9c953dcf4e80524473779c71541559ea700fa89e7abe6b
    File { path: "tools/rye/core/runtimes/python/lib/run.py", bytes: include_bytes!("../../.ai/tools/rye/core/runtimes/python/lib/run.py") },
    // 98a91119e3f26d516b4d53bc67e89fd1ac19fb9458bf98ce2b4274934ccdcd68
    File { path: "tools/rye/core/runtimes/python/script.yaml", bytes: include_bytes!("../../.ai/tools/rye/core/runtimes/python/script.yaml") },
    // cc60823cc21850bbe0f8e5c3ca4d1ebf40f5e6e7f6c62805735e7fb44e2b157f
    File { path: "tools/rye/core/runtimes/shell/script.yaml", bytes: include_bytes!("../../.ai/tools/rye/core/runtimes/shell/script.yaml") },
    // c8ddfb54e817e409f0a4628d61385fdcd9698f53a8c6117022230f6aa2c38273
    File { path: "tools/rye/file-system/edit.py", bytes: include_bytes!("../../.ai/tools/rye/file-system/edit.py") },
    // 3f4af8d1e10a1a1af08b6359a010d48f0650a728f3747c33b268616c2201af85
    File { path: "tools/rye/file-system/glob.py", bytes: include_bytes!("../../.ai/tools/rye/file-system/glob.py") },
    // 7417c14751323fd373608bd7548d658cfddb61a1d1792f9b39d6318c7e0f5fa6
    File { path: "tools/rye/file-system/grep.py", bytes: include_bytes!("../../.ai/tools/rye/file-system/grep.py") },
    // b7ae462c938fa7a24266f37cce7ced9578e5c849f58d946afc084643c1580252
    File { path: "tools/rye/file-system/list.py", bytes: include_bytes!("../../.ai/tools/rye/file-system/list.py") },
    // e2456a6e8a78e5685fa7400b08a291c2cc375b9913672a2ef0edbfad44a5240f
    File { path: "tools/rye/file-system/read.py", bytes: include_bytes!("../../.ai/tools/rye/file-system/read.py") },
    // 2d0a9df60f03a961cf51ac73eca2bf86f7462ad06b034f6e7b88a5f5a97658be
    File { path: "tools/rye/file-system/write.py", bytes: include_bytes!("../../.ai/tools/rye/file-system/write.py") },
    // 16a842650f5e307250d60128012cacfd319e29a23386d7a4db63b9a957215e43
    File { path: "tools/rye/lib/__init__.py", bytes: include_bytes!("../../.ai/tools/rye/lib/__init__.py") },
    // 60490e3527a54e4352bd248bf669e9effdd97466ce1ad0420891fbff4f4f0463
    File { path: "tools/rye/lib/params.py", bytes: include_bytes!("../../.ai/tools/rye/lib/params.py") },
    // 36141f5bba183aad59d54b6d6a16cacdc8b88e98e28d518ff3220b33bc89f719
    File { path: "tools/rye/lib/paths.py", bytes: include_bytes!("../../.ai/tools/rye/lib/paths.py") },
    // 62d92e73f1ba0c4dc158aa9526ef3e314f54ba094fa9f2b83a8083357e19b0a2
    File { path: "tools/rye/lib/pattern.py", bytes: include_bytes!("../../.ai/tools/rye/lib/pattern.py") },
    // 75da158e9a2224d4acd5b8ca2e8446960c96c3768d5f502fafe19fc573fe6a5f
    File { path: "tools/rye/lib/replace.py", bytes: include_bytes!("../../.ai/tools/rye/lib/replace.py") },
    // 6ec8c98cdb67eda4a73726d9cb68168afe3a49e1a9bbbffebd7ab5d01b4a7d77
    File { path: "tools/rye/lib/walk.py", bytes: include_bytes!("../../.ai/tools/rye/lib/walk.py") },
];
