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
    // 9708644e826695f816cb430db53ee9292bf9fb871d9b115443d54bc0a861041a
    File { path: "knowledge/rye/changelog.md", bytes: include_bytes!("../../.ai/knowledge/rye/changelog.md") },
    // c8b3fa2adec0785714738479da808d8488008ff16978ea591427e17e5980fee9
    File { path: "knowledge/rye/dev.md", bytes: include_bytes!("../../.ai/knowledge/rye/dev.md") },
    // 4f3f63afbdd05679d46ba41eb6b357ebdefb5f1cd6df508442c2fa445f68f769
    File { path: "knowledge/rye/directives.md", bytes: include_bytes!("../../.ai/knowledge/rye/directives.md") },
    // 760f864a43e5d95cba279030a7596aa94eb5c80c360677fe9dd5819a6f351f27
    File { path: "knowledge/rye/editors.md", bytes: include_bytes!("../../.ai/knowledge/rye/editors.md") },
    // 99ef63b9636cc7aa1b1eaef4e9026283adf7e863ef03d18582635917b7e61103
    File { path: "knowledge/rye/errors.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors.md") },
    // 8c329859d1246e246368f9d8cb0c9736f6b5a594ca5f3a9ba15c0d1b30f0d845
    File { path: "knowledge/rye/errors/author.exists.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/author.exists.md") },
    // d8541d2716c1b5ecfa04f5091722f79abe7d80c1e42241998e53bc2c79032ef9
    File { path: "knowledge/rye/errors/author.io.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/author.io.md") },
    // 1d75513526733346a058ccad84415d60ca9ad8f17dbad805e5ad08224154e1e4
    File { path: "knowledge/rye/errors/author.language.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/author.language.md") },
    // 4c93d89f0a89932fd68e334f6491d03b3b20a87c5faf4435c9e1c07b5b0bb584
    File { path: "knowledge/rye/errors/bundle.changed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/bundle.changed.md") },
    // bc6ea86fe482563563388a87d3aba269475cbb4334b1597c8716b7f512e9cf0c
    File { path: "knowledge/rye/errors/bundle.clash.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/bundle.clash.md") },
    // 8873faabf53cee21cbf83039953559dd7469fea828ea2fcd91eaf6e26a26cef2
    File { path: "knowledge/rye/errors/bundle.content.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/bundle.content.md") },
    // c3e17d1f7c179995e0f907084f16c9023651bd1677b4cf439a4c6696f8f709e0
    File { path: "knowledge/rye/errors/bundle.exists.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/bundle.exists.md") },
    // 51020f2b7b1d61c1a0048310d8a14b85e0fa18eaac41a334afdcdc9a08b2e24e
    File { path: "knowledge/rye/errors/bundle.forged.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/bundle.forged.md") },
    // 1ab38309676255a089b845a670fd1d018ef113984cd2885ec8da834de0199a0e
    File { path: "knowledge/rye/errors/bundle.installed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/bundle.installed.md") },
    // 54572b42598a8405ce92686f2cae3ce35a39a2d7ce6fa80c795e70ad428eb45b
    File { path: "knowledge/rye/errors/bundle.io.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/bundle.io.md") },
    // b81b4dca28390dc673307ebcd7b4b0fc46a955c66a374a0bc590dbb84a7b51dd
    File { path: "knowledge/rye/errors/bundle.malformed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/bundle.malformed.md") },
    // caec705a3b8415a3800d6869dc54e15c30a185a239aadf0a7f790da314aae370
    File { path: "knowledge/rye/errors/bundle.not_found.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/bundle.not_found.md") },
    // 8f6b5888df5cd1b508910d5ccd4ecf5e1330c6284f42702b8f1c428bda1fbc0a
    File { path: "knowledge/rye/errors/bundle.refused.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/bundle.refused.md") },
    // bafd8c40f5016b1f44b29b42a7a6dd131e02614edcb7627868af25c20a8a589d
    File { path: "knowledge/rye/errors/bundle.untrusted.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/bundle.untrusted.md") },
    // e52564fa46e14a40bd9cbda25c0915d129e4143525f834ac1a20a839b7759624
    File { path: "knowledge/rye/errors/chain.cycle.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/chain.cycle.md") },
    // ecd92ed248da9bbe2e267de89e885a5fd7eca8b5817be5d6ae6d7d7806280ed5
    File { path: "knowledge/rye/errors/chain.executor_not_found.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/chain.executor_not_found.md") },
    // f922e50a060639e334fc6549fb42c09c7064402ce3f3130d91f565162782e54e
    File { path: "knowledge/rye/errors/chain.not_a_tool.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/chain.not_a_tool.md") },
    // d37c7a53a0fc464fdaf117e6bf7938c163d9652a9ce1f967a4951c3e2176d08a
    File { path: "knowledge/rye/errors/chain.not_an_executor.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/chain.not_an_executor.md") },
    // 9b0eb4f17a874cccb25e5e83e2289f30395771cdafe16232c5857df98716a633
    File { path: "knowledge/rye/errors/chain.parent_not_found.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/chain.parent_not_found.md") },
    // 0849608846245e831ee6e64dd3e1003ae22901904e4c63ee75d91857b0741be0
    File { path: "knowledge/rye/errors/chain.too_deep.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/chain.too_deep.md") },
    // 64b07d0f99c208021602eb66c98229ad8e39417163e22a8621da3fd5df454594
    File { path: "knowledge/rye/errors/chain.unknown_primitive.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/chain.unknown_primitive.md") },
    // ddecdd20994e5bbead1510aa24e448bf7b0963131115be60105b43f2ad909a24
    File { path: "knowledge/rye/errors/cli.input_file.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/cli.input_file.md") },
    // 6c68fe9e85e3455f9ec914cf6ac5ef03264222084899207c5ba0bbe2a21ff9cb
    File { path: "knowledge/rye/errors/cli.input_syntax.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/cli.input_syntax.md") },
    // 2e68ad016e6fb02c233b78e4f5c4f1b22c1871331dd0e36eec2b68620121c1ab
    File { path: "knowledge/rye/errors/cli.not_confirmed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/cli.not_confirmed.md") },
    // 35fc85fb16b5815c4d97c4ba78c69789e6fdde80ca67560c8768a09204ff88f7
    File { path: "knowledge/rye/errors/cli.output.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/cli.output.md") },
    // 38ae9f0042f24d81286c40aad24c6cd971ab6c371c6ca7a3459f70e2af4c4119
    File { path: "knowledge/rye/errors/cli.params_json.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/cli.params_json.md") },
    // b8fd9946e9632d9e1cb236350fd8b28a4d0655ca44894b47449c882868ce2a05
    File { path: "knowledge/rye/errors/cli.unknown_code.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/cli.unknown_code.md") },
    // bf569d3c35e1db7039e141e8448b7c44f9e342d2d235f7fb1400e99e4b821a40
    File { path: "knowledge/rye/errors/cli.usage.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/cli.usage.md") },
    // baf483875fddfa3f6c1e82e3c1b80fe8010df359d46200cd8bfd56240aaea262
    File { path: "knowledge/rye/errors/dev.no_project.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/dev.no_project.md") },
    // 9a26dd3e885bac63dca813f55e0d275c699454fb79c4969345ce5b39f3fbcef0
    File { path: "knowledge/rye/errors/dev.watch.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/dev.watch.md") },
    // 1a0c8a73fbf7d4d2696928f2b23783e0fe193ee964ec1d4d0d0f976cdd20c997
    File { path: "knowledge/rye/errors/diff.ambiguous_version.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/diff.ambiguous_version.md") },
    // d5a91200c27ed9ec6801f7c2feeb4156e619866e0e99d4637f10728d89440dde
    File { path: "knowledge/rye/errors/diff.no_baseline.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/diff.no_baseline.md") },
    // 81a43f996106df174ff73ad8077a90778a841cc2647f153a8b2e0e8369d7abfa
    File { path: "knowledge/rye/errors/diff.unknown_version.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/diff.unknown_version.md") },
    // 397ab3ff94af359a0a97b4fbb7585afe55bfb231a054f2aa88f0d64ed570e6e8
    File { path: "knowledge/rye/errors/eval.error.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/eval.error.md") },
    // a86bfb1f0de1885fdc2612db533fcf3e72cbdd09b1a671cd2652821c2446c711
    File { path: "knowledge/rye/errors/eval.failed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/eval.failed.md") },
    // 6349688918733736d7d03272eb711e87d3d359e12b767a0c96643b25b29ab73c
    File { path: "knowledge/rye/errors/eval.not_an_eval.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/eval.not_an_eval.md") },
    // 9be972bef1c3a65e76a0a8fc6d55cb52c4e2a6902d8d8d7f8b7ecc1d3183749b
    File { path: "knowledge/rye/errors/execute.http.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/execute.http.md") },
    // 5517392945cb12f5b5ad8d8adacb54efbd90d77fda3acc95ba8e8c5e113375f9
    File { path: "knowledge/rye/errors/execute.interrupted.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/execute.interrupted.md") },
    // ca7d612890c646c8e3f8b85fcf12c6c7d3c8bc879799551fa0592ffb08672127
    File { path: "knowledge/rye/errors/execute.pin.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/execute.pin.md") },
    // 3e2ccfb9e287efc7397952e2c3c2294ac6bfe6fa4ee847e55b237478988ad82d
    File { path: "knowledge/rye/errors/execute.spawn.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/execute.spawn.md") },
    // 10df2e426f972590f5bf56c2796fde5bc34d57dc13e4c99f487b1aa975083bbe
    File { path: "knowledge/rye/errors/execute.timeout.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/execute.timeout.md") },
    // 71e61f918c98e821c36828a3c058460a73a9744d8d4308ac2b69bd64b27b3714
    File { path: "knowledge/rye/errors/execute.tool_failed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/execute.tool_failed.md") },
    // 68168e7fa3cd1b288695df22b8bb9d8c2739110734d6c6d2c259e5b29a87524a
    File { path: "knowledge/rye/errors/git.failed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/git.failed.md") },
    // e8ff841c19d3093630f64c4635e40cff61c4cffad055f708767e78060858f28f
    File { path: "knowledge/rye/errors/git.foreign_file.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/git.foreign_file.md") },
    // 20fd4f8361b02bc331d44d0059e6bbdcdf074b29a7aa43309f573fc7d851ed8b
    File { path: "knowledge/rye/errors/git.io.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/git.io.md") },
    // a092150dbdc8365d75c52303f88ecd63027ec36e43570bcbe705dfcd10e74e90
    File { path: "knowledge/rye/errors/git.no_repository.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/git.no_repository.md") },
    // 4d9cfdfcd4dfbe858500c278419b1a1c86e3e1a72c0b9e2673c0411f1b81b10e
    File { path: "knowledge/rye/errors/git.refused.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/git.refused.md") },
    // 288c0e727be3d9edeaa2926d74d7052d1253116c6036449b3f114d1ec33a8455
    File { path: "knowledge/rye/errors/hook.denied.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/hook.denied.md") },
    // f622c0bfd92de5e6437096ab9c7964f44faec3d7abe36388ebb64a992577f5af
    File { path: "knowledge/rye/errors/hook.not_a_hook.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/hook.not_a_hook.md") },
    // 50194718f9e2e5f3099f0bbabf05a8f57d9b6d046ff28b0952ef89b1f118cc7c
    File { path: "knowledge/rye/errors/hook.unusable.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/hook.unusable.md") },
    // 8589973404fd3702fcdc2b901d83fcf575ec914083efee10ca122542267d5980
    File { path: "knowledge/rye/errors/id.malformed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/id.malformed.md") },
    // c37eeeae35c9de0104424ca90eae03f017f4fbacee46de5c982e588ec427629c
    File { path: "knowledge/rye/errors/id.unknown_kind.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/id.unknown_kind.md") },
    // f8539db44499f903ff4ed7822be7f9519eb144bfdbf32379f8e3d46d933fde66
    File { path: "knowledge/rye/errors/import.exists.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/import.exists.md") },
    // db7fe5aebfec45c3d8185e03c9c7e58bdc640cd7c567251b84e921af13b54570
    File { path: "knowledge/rye/errors/import.file.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/import.file.md") },
    // 66dbfb27727f0734361ca0d26cd065bbfacd87ae85a739a195e6dc2b222ce393
    File { path: "knowledge/rye/errors/import.io.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/import.io.md") },
    // ce7b15e219d51a4c246d4531b3f1dd3b106990d5f495227709f1f4efcd313d24
    File { path: "knowledge/rye/errors/import.missing.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/import.missing.md") },
    // 95bcf6f03393ebb7645ce1c6fe250dac403de07ca3d3dd56d9cc4239a98abbc8
    File { path: "knowledge/rye/errors/import.name.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/import.name.md") },
    // 0981b261dd2a3ab9a16731141c9cfaa8aa47655d9d8c8fe4b0d8a71b923d9480
    File { path: "knowledge/rye/errors/import.not_a_config.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/import.not_a_config.md") },
    // 86987a792cc849a7331f9168eea1ee3a5e7b691091aa06da4004adc926787a7f
    File { path: "knowledge/rye/errors/import.not_a_skill.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/import.not_a_skill.md") },
    // 6855906ca1da965d54fbcb147a4023f17c1b734deeb69159931c4c408b208a5a
    File { path: "knowledge/rye/errors/import.not_in_pack.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/import.not_in_pack.md") },
    // 6234a7f6d952bb097de5f1d438190c5a963f42fbb7f97348c811165193a4028e
    File { path: "knowledge/rye/errors/import.nothing.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/import.nothing.md") },
    // 86ee62a02140dcc301c702408a2a06e57e8b3363136bf3476af4a93865c638c1
    File { path: "knowledge/rye/errors/import.syntax.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/import.syntax.md") },
    // 95b078be4eebfb9b0c36cb06b47ff866dac0e8a67dcd74351713218bb2577277
    File { path: "knowledge/rye/errors/import.unknown_key.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/import.unknown_key.md") },
    // b458ab97f0379e317537d042c3ab22634f8ac71b7b9aa3b56d357b32e260e65b
    File { path: "knowledge/rye/errors/import.value.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/import.value.md") },
    // 27b90220afa46882a54c1dc217b4d711935830cda64f6026eb715405bfb7727f
    File { path: "knowledge/rye/errors/interpolate.missing_inputs.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/interpolate.missing_inputs.md") },
    // 691babcb86e8bfbfdab0fae5321826a72a2034241f3d6c8814cb1ef3df1a8470
    File { path: "knowledge/rye/errors/interpolate.unknown_input.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/interpolate.unknown_input.md") },
    // 25cce41b9fe0fadb92f0a6a0ff4f812c53e53173e5ee283e4191c9a7b5b6c9e1
    File { path: "knowledge/rye/errors/interpolate.wrong_type.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/interpolate.wrong_type.md") },
    // 39d92e4ab50c8c91ef287e704ac41a46464ddcb2f7f70164c1c068efa09e2929
    File { path: "knowledge/rye/errors/key.exists.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/key.exists.md") },
    // 9ee7756422110c457993047b650bd4dccf143883856a4c6e8a61bab956d1ed72
    File { path: "knowledge/rye/errors/key.io.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/key.io.md") },
    // f442080d9e5bc4267b7f24f70282d0463dce15155a20c42e5e957524098dfacb
    File { path: "knowledge/rye/errors/key.malformed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/key.malformed.md") },
    // 4255c157b727ba9d96315c8bc49ae0109320c669f15d8529d19e5ecf1ed08265
    File { path: "knowledge/rye/errors/key.missing.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/key.missing.md") },
    // a9a0441b9e33f73ff88ad3864d885cebf16f1da5d85323b223412b73f96158ac
    File { path: "knowledge/rye/errors/key.permissions.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/key.permissions.md") },
    // ea522413b7883deaf86e7f403f9c64535e4781f2a4de1438d250bd24f706e486
    File { path: "knowledge/rye/errors/learn.cannot_watch.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/learn.cannot_watch.md") },
    // b8c8410a2ac019c9038f3ba8be73768fb2e6935b43acd9bded20dc98790af439
    File { path: "knowledge/rye/errors/learn.cannot_write.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/learn.cannot_write.md") },
    // 9fffd957f49ea6af5d0ce1295c5df0707cc1325c9cac38b52e6b5907ff9252cb
    File { path: "knowledge/rye/errors/learn.no_process.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/learn.no_process.md") },
    // 1938151b19baaa85a11e4c92262ce6dfa65920c6d7146a563b4e20f0416984ea
    File { path: "knowledge/rye/errors/lock.differs.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/lock.differs.md") },
    // 7fe36a66613158d852978e1dd05784ae8272518e2c3e907fb85c1a8437002120
    File { path: "knowledge/rye/errors/lock.io.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/lock.io.md") },
    // f96a1b2f9c18d5fc2e54ceb0b39dd40bfd729b4562ba65f50f7e6f34cd318b59
    File { path: "knowledge/rye/errors/lock.malformed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/lock.malformed.md") },
    // 4a2c2fef8576cc0dd49f9d583cfd6c6aa4ea54b9403922253e3614293af7af09
    File { path: "knowledge/rye/errors/lock.no_project.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/lock.no_project.md") },
    // edae44f165dcfaff91e926d1c08f147afe0281425b74aa61c2da791fc0fad74f
    File { path: "knowledge/rye/errors/lock.not_listed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/lock.not_listed.md") },
    // ee2369d9fe4c943724cf3ed0a8bde6d7ab5fe3cef6fcd8cb1651fae1c9862e1f
    File { path: "knowledge/rye/errors/lock.version.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/lock.version.md") },
    // 11d1247588d7b878b4eb3f7b61c242d4e04f6b0840d11b709a8254f78d908368
    File { path: "knowledge/rye/errors/lsp.io.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/lsp.io.md") },
    // cd7d5e7c806c2f3797fb1e69f0fab1f463a9e6a853932b4a0137ee8988f7cf53
    File { path: "knowledge/rye/errors/lsp.malformed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/lsp.malformed.md") },
    // 6dba8523567ed8c5f19faac78fe1ba76873bd2cd904d9d6843877d1a77b24e67
    File { path: "knowledge/rye/errors/matrix.async_dry_run.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/matrix.async_dry_run.md") },
    // 7d593a14066c57b174aee8ec04d63fee73917f260daa1f5596b69ae9d040e7de
    File { path: "knowledge/rye/errors/matrix.directive_async_inline.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/matrix.directive_async_inline.md") },
    // 4e75ecfa08ab477517a812db53d060812e6af40220543f8ebe26e8ca449b7eab
    File { path: "knowledge/rye/errors/matrix.directive_remote_inline.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/matrix.directive_remote_inline.md") },
    // fd9551a63176b8f187b769393e7d953bdaf11dac6a6255cf14c7c18eeafa146b
    File { path: "knowledge/rye/errors/matrix.dry_run_remote.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/matrix.dry_run_remote.md") },
    // 80e4ed045d090dab6c98f01684d87d370859e08797984de3d6b4491d1b75f272
    File { path: "knowledge/rye/errors/matrix.empty_remote.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/matrix.empty_remote.md") },
    // fab1490cb891805efa59983807c9cfd58994cce3b1bff8a6dc931d2f07162240
    File { path: "knowledge/rye/errors/matrix.not_built.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/matrix.not_built.md") },
    // 29f11924c399d8f1211832b83d333cb66e2bea167572d40cb8e68f758e81f168
    File { path: "knowledge/rye/errors/matrix.not_executable.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/matrix.not_executable.md") },
    // 5e322268ecaf01ac45cef137bf2768f672f2c4052e0751bf759fcb123a4dcd86
    File { path: "knowledge/rye/errors/matrix.tool_fork.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/matrix.tool_fork.md") },
    // d5cfc26016e66b5caf88f3074ed934f86262070c8d3f5d2c194a5c37ead428ae
    File { path: "knowledge/rye/errors/matrix.unknown_word.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/matrix.unknown_word.md") },
    // e8476f788ce32aa5de68d65e0ef3469d51f526a632108d96534774b3676bf611
    File { path: "knowledge/rye/errors/mcp.arguments.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/mcp.arguments.md") },
    // 2df72bb44fb593e92d67c82239e6a51188ee1266966a8e204bc46d303b306eb7
    File { path: "knowledge/rye/errors/mcp.bad_answer.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/mcp.bad_answer.md") },
    // 3e37ce8ede9a6d405f893ea2d621f26d11f1ee4446e5b3f7c065f0720ba8c359
    File { path: "knowledge/rye/errors/mcp.busy.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/mcp.busy.md") },
    // 72f22afa20fcd646950df542812d651ac5fa3a77b842b9d8f74e68fb7cf9a030
    File { path: "knowledge/rye/errors/mcp.dev_mode.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/mcp.dev_mode.md") },
    // b31585f187f26d656f243740f2ab1745ee63330a1a8b40064e2246aefe56299a
    File { path: "knowledge/rye/errors/mcp.io.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/mcp.io.md") },
    // c9378ea2418e5e33b91dd26e6f8b3b8dc6a3c12e84d55606cc58167d6b90bb4d
    File { path: "knowledge/rye/errors/mcp.listen.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/mcp.listen.md") },
    // 6b3eb5a27fea5772f17d18ba668550be1b69bac8913d72870c5d81b121becab1
    File { path: "knowledge/rye/errors/mcp.name_taken.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/mcp.name_taken.md") },
    // c6a1c0258647e379383f2db666bafee749d1ff32299725921a835e520207f257
    File { path: "knowledge/rye/errors/mcp.output_schema.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/mcp.output_schema.md") },
    // 7413b03465efe82d30df5cdb0ca5eb35128e2106360376aac5c55595e68707f4
    File { path: "knowledge/rye/errors/mcp.outside_roots.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/mcp.outside_roots.md") },
    // 12149fc68d0bb02767f292cc22adfb03f11656ec07a20db75bbae1df164bded6
    File { path: "knowledge/rye/errors/mcp.server_failed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/mcp.server_failed.md") },
    // fa74341a633be8bd503f8041d56c4162c76321428077b822ac35060af28edffd
    File { path: "knowledge/rye/errors/mcp.sign_refused.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/mcp.sign_refused.md") },
    // 53ff4e022df9735fe59ef4ff62cc1d11527d2d5b22e5c8ff46cd897a8f77bddf
    File { path: "knowledge/rye/errors/mcp.tool_changed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/mcp.tool_changed.md") },
    // 70d2edabd844d41b67534e6b18cbe3e94019fc2380e05a294291ccfd48585ce4
    File { path: "knowledge/rye/errors/parse.control_text.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/parse.control_text.md") },
    // 91aeaefc27fcdb5f76b0ebd14635beedaeeb669ae5d15ba3063cc642324da2a2
    File { path: "knowledge/rye/errors/parse.directive.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/parse.directive.md") },
    // 4e5666476b12580aac8def0e410d1b3e2160b1ceb9d43d98b3c095efd0960599
    File { path: "knowledge/rye/errors/parse.duplicate_metadata.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/parse.duplicate_metadata.md") },
    // 367dbf8acc4561bfdaf912398300896b422d7fd22e263eadb1e1f2d7c38e31a1
    File { path: "knowledge/rye/errors/parse.encoding.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/parse.encoding.md") },
    // dc171ebd316512ab3050abbe2588cce48a13109864e9e9a8b089a99e9e2e8ec0
    File { path: "knowledge/rye/errors/parse.extends_cycle.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/parse.extends_cycle.md") },
    // 83f1c33d7fdeedc8a435ffddf5fd3cde7efa4e2ff1b09296c71a1a08e3bc2d35
    File { path: "knowledge/rye/errors/parse.invisible_text.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/parse.invisible_text.md") },
    // 7c48aa698c65fd2f6fe1c0013c902fd56a08351fd00cf18abe3314176f7c2be4
    File { path: "knowledge/rye/errors/parse.json.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/parse.json.md") },
    // c677674d8b54b3c44fdeb9dda7533da9c9449d1ecab4586cf82631ff69ea5eb5
    File { path: "knowledge/rye/errors/parse.limit.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/parse.limit.md") },
    // 343c056122caa9ae9fa4289247cf1b9b646fd02a3d7ebd552d42d9d1c24e6a86
    File { path: "knowledge/rye/errors/parse.metadata.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/parse.metadata.md") },
    // b280576e659a1dadac3fcc2ff0e2fd0cc8a093c69d71fdb66cd3d18fb2672627
    File { path: "knowledge/rye/errors/parse.no_directive_fence.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/parse.no_directive_fence.md") },
    // 0bee697bba3191284d14d763e7642f2a1993c12ca57cb7f13643fd2f9dfbebdc
    File { path: "knowledge/rye/errors/parse.not_utf8.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/parse.not_utf8.md") },
    // a0e1f9cfd836396050fd1e6143914f7a59aa380c5a8a3430fe5afa49119b9ebb
    File { path: "knowledge/rye/errors/parse.syntax.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/parse.syntax.md") },
    // ce7d222befa5a4703e18db7c412428f0c770d942df612550f82507363a08494a
    File { path: "knowledge/rye/errors/parse.toml.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/parse.toml.md") },
    // 99acb42ace35def9958b22777fb644badc8dfc95b43e3dd22e87aa968d91c3f0
    File { path: "knowledge/rye/errors/parse.two_directive_fences.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/parse.two_directive_fences.md") },
    // 20307684b3b3d5f36af81eb591adf19f08b68465d0a77d2b97653bf2ad2ca517
    File { path: "knowledge/rye/errors/parse.xml.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/parse.xml.md") },
    // 4aff03fd9d4fcc63539a8124fe3d11cfb4e4fa9cb5d4dbd61c23f5411cc7a334
    File { path: "knowledge/rye/errors/parse.yaml.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/parse.yaml.md") },
    // 04bb0212eaa5d059f9a569629bace60a4b38a9dc7310567fa5f8e0cac5892741
    File { path: "knowledge/rye/errors/pending.decided.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/pending.decided.md") },
    // b4bda79e0e7fcd4dc3034ddc4f96a5eae720b9f5e49e6166ce42d612c6e79598
    File { path: "knowledge/rye/errors/pending.drifted.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/pending.drifted.md") },
    // e0c6c284f4fa1a78563f6dd753c3815b8fc9898b933c383a6bd080b01f39caa1
    File { path: "knowledge/rye/errors/pending.full.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/pending.full.md") },
    // c45fe1df88267f6fd1248f99e6d9c36f6f9d24be6d90306475cdc43c27289e11
    File { path: "knowledge/rye/errors/pending.lost.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/pending.lost.md") },
    // 4172fa011d4a70653ea2749b880fd6ac975c22d8d15f9c2e742a73e06cf86262
    File { path: "knowledge/rye/errors/pending.not_found.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/pending.not_found.md") },
    // 3bd522e1abc2ce01acd04477d50c2a043593e2de91a3545cc17536fd1979e609
    File { path: "knowledge/rye/errors/pending.rejected.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/pending.rejected.md") },
    // a6e38424ef413d0c723d59e0dc6d1b1d9e963e000e595587d6287e8ca533ab28
    File { path: "knowledge/rye/errors/plan.argument_nul.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/plan.argument_nul.md") },
    // 0b91171e7d6735b4fca296d1e2c62947efb1cd5bcceaf7cdc63c3f3cc67484bc
    File { path: "knowledge/rye/errors/plan.argument_too_large.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/plan.argument_too_large.md") },
    // 87065a73ffa97b0d23e6320205741bed61cf67ac6a17fbe2e743c818c60a1bdd
    File { path: "knowledge/rye/errors/plan.bad_config.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/plan.bad_config.md") },
    // e2ee0bb9596b147127de09069090261347728a79a989a38783edcdd7c2385914
    File { path: "knowledge/rye/errors/plan.bad_env_file.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/plan.bad_env_file.md") },
    // 227199110658de169b5bd6f1dadc5e46937c10bd3e658dde4956fecbcea09613
    File { path: "knowledge/rye/errors/plan.drifted.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/plan.drifted.md") },
    // bdc8bad53947e4655ec9702e2c87e12fe61132f86fe563dc3f00b6e0575d702b
    File { path: "knowledge/rye/errors/plan.invalid_parameters.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/plan.invalid_parameters.md") },
    // a567c2354b610c0b8f06188ef434cc9205c3e81a90a72b081eec16439f69e7fa
    File { path: "knowledge/rye/errors/plan.invalid_schema.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/plan.invalid_schema.md") },
    // ca070f6a94a22ecfb50023f3e5d95901095a8c26799a31b87a623332fc5c18f2
    File { path: "knowledge/rye/errors/plan.malformed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/plan.malformed.md") },
    // d8eb9b03a02ddc96923a045016d3b43a8bae1bb99b4e83a80603179db9e2245b
    File { path: "knowledge/rye/errors/plan.missing_secret.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/plan.missing_secret.md") },
    // f543012fb24b511284fa6418211ce0264aa8f9f8fe8b10abe3db316e36206fcf
    File { path: "knowledge/rye/errors/plan.no_command.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/plan.no_command.md") },
    // a28f5e5c5bb848074b2798f12cb76982d61e8d8488b848b910c143cc8f0515fa
    File { path: "knowledge/rye/errors/plan.not_a_tool.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/plan.not_a_tool.md") },
    // 873a131c6c1df482a83dc5e098527cb08dc6c8d68edfc56d7e9e87f17157cb0e
    File { path: "knowledge/rye/errors/plan.program_not_found.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/plan.program_not_found.md") },
    // 421fa513f412c498a0673693a38c22d52b90a3a63f6e3ad61cac6eff3297e98d
    File { path: "knowledge/rye/errors/plan.refused_variable.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/plan.refused_variable.md") },
    // 2c6a260002451694ff6e3093e7549b11ae0a966e0a4769482dff987e2930ebb3
    File { path: "knowledge/rye/errors/plan.secret_in_argv.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/plan.secret_in_argv.md") },
    // b2af73b72549350ed63de457453366d0e35102a7ff8d036616e83881bd5776ed
    File { path: "knowledge/rye/errors/plan.unverified_program.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/plan.unverified_program.md") },
    // 32f5ac2387c763e6e75686ad24aa79bccbe0021b53f2d5d14416c9e383cc31af
    File { path: "knowledge/rye/errors/plan.variable_too_large.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/plan.variable_too_large.md") },
    // 31f39193c743707b9686485313a03d0077e05e710e3d9ef76dc2d708c996115a
    File { path: "knowledge/rye/errors/protocol.bad_response.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/protocol.bad_response.md") },
    // 1d8fedc5eea284c9d06fb7c29b6eefff6c2bb5f746441895eb55ffb346e2f3d3
    File { path: "knowledge/rye/errors/protocol.bad_score.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/protocol.bad_score.md") },
    // 2c9c16ee4fcd3a3694151a46e035235fb3ac9963750ca04cf263a83f881973c3
    File { path: "knowledge/rye/errors/protocol.empty_response.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/protocol.empty_response.md") },
    // 4e46c57a3ce6688c4ee097ee28230f26d2f9b1936ec0ebb19661beb76fa1168c
    File { path: "knowledge/rye/errors/protocol.output_too_large.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/protocol.output_too_large.md") },
    // 2192166d259e4fd2cb0a55948dda6c30cbb7c60d8c032310c173266f40ecec9e
    File { path: "knowledge/rye/errors/protocol.pending_again.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/protocol.pending_again.md") },
    // 4a73b433a13f4cc56bd42a78040e3c01d60efa215288303ee25952ba1ca9100d
    File { path: "knowledge/rye/errors/protocol.request_too_large.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/protocol.request_too_large.md") },
    // 249ac4ce1131f2c1ab20323e8d410687ba58e7ac12259bb869ad33dc736bf7f3
    File { path: "knowledge/rye/errors/protocol.server_exited.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/protocol.server_exited.md") },
    // 57a4a0ee693304cf10379e13e16e3180c06b1008d89cfdbbe0eaafd29e6b1e81
    File { path: "knowledge/rye/errors/protocol.server_unstable.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/protocol.server_unstable.md") },
    // d1de726f50bd1644b14b86e6e7213f25fa12f90bd06bba5a81d4cf434fae457f
    File { path: "knowledge/rye/errors/protocol.timeout.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/protocol.timeout.md") },
    // cdc169240063ad1e7cc7033b99476d11ac51c9a3f85e332545c1341a8270944b
    File { path: "knowledge/rye/errors/receipt.forged.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/receipt.forged.md") },
    // 4957b49ec6e9b1e64ae43f48b1b22e638431b6a39e3107b2e5f63c0e5908477e
    File { path: "knowledge/rye/errors/receipt.io.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/receipt.io.md") },
    // 7c1d097470509c9004e2e45bd8400aeb7c108eb63928425237c9911088e6df50
    File { path: "knowledge/rye/errors/receipt.malformed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/receipt.malformed.md") },
    // 01c8d7562255ed2c5f26e5dd9b769c5f2e8c09d59df262acba1f45f1719d5dbc
    File { path: "knowledge/rye/errors/receipt.other_plan.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/receipt.other_plan.md") },
    // 7b9796f68666ef34c0c46c6ec9d9024aaee2ada6d5f043d44a0038c31a1d825f
    File { path: "knowledge/rye/errors/receipt.other_run.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/receipt.other_run.md") },
    // 5e69ee91acf96dbb0e895f25a762a36f0dc53a5342f07c07e0e9675d84522925
    File { path: "knowledge/rye/errors/receipt.revoked.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/receipt.revoked.md") },
    // 3cd0513615e7102e48e74ddacc3040bc99e802fa79113a14990b99d6949034d4
    File { path: "knowledge/rye/errors/receipt.untrusted.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/receipt.untrusted.md") },
    // 9cc1154e4e6d517b861f696e5add83192d0583bfdb32f72a775cbcfb20f58bbd
    File { path: "knowledge/rye/errors/registry.io.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/registry.io.md") },
    // 25679ce2a9592bd6fe6560a715c721da249823d8084f325fda6aa681c3dabf9e
    File { path: "knowledge/rye/errors/registry.newer.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/registry.newer.md") },
    // b70bb64ebda75fd6f5e5398a0475b0cc63ec9752af6fed8e3b4f5cbbfda879c5
    File { path: "knowledge/rye/errors/resolve.ambiguous_file.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/resolve.ambiguous_file.md") },
    // 7ceeeac155d4570020cba5fa0ebbf036589e9b7ec0a0e51b4a2029eb4fdfe6d7
    File { path: "knowledge/rye/errors/resolve.ambiguous_kind.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/resolve.ambiguous_kind.md") },
    // d0cb60b77f4ff0fcc7373c27efa1e464fddf0396547e66aa4582f33f4d39bae8
    File { path: "knowledge/rye/errors/resolve.ambiguous_space.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/resolve.ambiguous_space.md") },
    // 5e0570fc7179cc531e9d3621c8d38ba49ae8c3254511d3493a3a5c963fe61522
    File { path: "knowledge/rye/errors/resolve.not_found.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/resolve.not_found.md") },
    // 33bdba4a6458f1872e4b144fe76d8f68be471cd93bc07609d13ae826fb86eb2d
    File { path: "knowledge/rye/errors/resolve.reserved.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/resolve.reserved.md") },
    // f959b390484af9fb9f662618957196f31b4ddaa94c25fdf22ac3575eae31e298
    File { path: "knowledge/rye/errors/sandbox.bad_grant.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/sandbox.bad_grant.md") },
    // 9ccf4d5ee1413a3b7588ba3b362b03821e8de69298c02ae2a49b0f9106e56826
    File { path: "knowledge/rye/errors/sandbox.cannot_limit.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/sandbox.cannot_limit.md") },
    // 06efe855f818348fdc7e3944e4fe4c22ea6cbb27168c48ae2de968d35f0f1df3
    File { path: "knowledge/rye/errors/sandbox.cannot_protect.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/sandbox.cannot_protect.md") },
    // 9906b2db1592cc076fc58d2b938bd908a4ad5dfa87acecb1d754ebcba44e6288
    File { path: "knowledge/rye/errors/sandbox.failed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/sandbox.failed.md") },
    // 7358ee684f67d9259d53accd24d123b8058647de9364be1463c1c7ca3d1c3d5e
    File { path: "knowledge/rye/errors/sandbox.not_allowed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/sandbox.not_allowed.md") },
    // 21ce2489867b2328c07a62cffb38c05b07920dca151fc9c8fb791e55f1af03ff
    File { path: "knowledge/rye/errors/sandbox.unavailable.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/sandbox.unavailable.md") },
    // 1bc25e5923430a4860a1ce265cc915a044e5fd6979b387a4d7fc16272c6739e2
    File { path: "knowledge/rye/errors/search.cursor.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/search.cursor.md") },
    // d68df37387583e150b3658afd29f0767e29083e4f29e5756d1a3dbf5e67732d3
    File { path: "knowledge/rye/errors/search.query.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/search.query.md") },
    // c4aa8a133aeb21a7b334ba22e396425dddf920d3fbe9c53ce38180da20132a09
    File { path: "knowledge/rye/errors/sign.bundled.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/sign.bundled.md") },
    // 3adf605d1dea8e48bfa3b766450e4c9d738b8934f9b6a82efd10e431af3cb322
    File { path: "knowledge/rye/errors/sign.dev_key.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/sign.dev_key.md") },
    // 2b445a7919a39cf639700549f5ef73ba4cc741132932b65e771b67108eaed333
    File { path: "knowledge/rye/errors/sign.embedded.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/sign.embedded.md") },
    // 9b5b926fcd29c42bb2e5b82748c6fef29b5dd4846695d28acbab5c3800a0a488
    File { path: "knowledge/rye/errors/sign.invalid.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/sign.invalid.md") },
    // 1b015fade96c2b2a8efc1dda030f240ce61a8eb679d07b66ee755a4cedc5e028
    File { path: "knowledge/rye/errors/sign.io.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/sign.io.md") },
    // 4028f50ead506c77edc3a1029ab72940c89c5bcaa4bcdedb169422fb4e9149c6
    File { path: "knowledge/rye/errors/sign.reserved.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/sign.reserved.md") },
    // fa63467b9e750e86f2253fb9bbf02168e9cbca646a6c700a12193c8129d662aa
    File { path: "knowledge/rye/errors/sign.shebang.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/sign.shebang.md") },
    // 1aa26b7782e2ddef41947bb2500d2a8c52f1b959af6531811e6cb7a1134821a0
    File { path: "knowledge/rye/errors/space.foreign_owner.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/space.foreign_owner.md") },
    // 930f4dcc991054be41fa5c8941bbd08975fe5ca425aaa526231cd101ce58987b
    File { path: "knowledge/rye/errors/space.io.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/space.io.md") },
    // 42c76e523e57d94ba834ea8f46d2329d6137946779061f276ecd87e51bc3300f
    File { path: "knowledge/rye/errors/space.no_user_space.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/space.no_user_space.md") },
    // 8417d9c6a4581bccc4a5e90930b9cab8aa42d76cca1ce4c293c05da93c13aba5
    File { path: "knowledge/rye/errors/space.not_a_file.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/space.not_a_file.md") },
    // 207d0b1a2eafc18d26e02218df59bcfaf06fad67e4c2cc7bce1d04906aa16689
    File { path: "knowledge/rye/errors/space.odd_file.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/space.odd_file.md") },
    // 6601ea2af003b69c6b13dbb3416fd30c0355115eb945a22d40e788c5692ea989
    File { path: "knowledge/rye/errors/space.symlink.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/space.symlink.md") },
    // eb1e89bf1c7fc49b487b92b785f86687f89300a35f01a3b6f240d58154c5c7a1
    File { path: "knowledge/rye/errors/space.too_large.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/space.too_large.md") },
    // 178ca597f1531c7165d24c66dd4a277b70e818b3159e030b3054a06a3be82abe
    File { path: "knowledge/rye/errors/space.untrusted_root.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/space.untrusted_root.md") },
    // 8d3801547a3ea097bba57556a356c2c1c9c6593f3ff5e606a57c0d2a4fbd8333
    File { path: "knowledge/rye/errors/test.failed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/test.failed.md") },
    // b66ca3b77f831075019cb2ce0f2ef3cb79d46ee92c1fc951cf55e2b6c698ee0c
    File { path: "knowledge/rye/errors/test.io.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/test.io.md") },
    // 0710873ff9b2bba6b3097a5e6b524f8c3a49e5342189c09d2f0deabf6094bd8e
    File { path: "knowledge/rye/errors/test.malformed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/test.malformed.md") },
    // 6df9435a18333e72579a6da632e42e7ccd8c492ba5c35591269e151687a381de
    File { path: "knowledge/rye/errors/test.no_item.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/test.no_item.md") },
    // 238674633fac0dde5e70324be003c5af6d97aa94e802c49ba0f0c900ae66c203
    File { path: "knowledge/rye/errors/test.no_spec.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/test.no_spec.md") },
    // fba6c95d1bbc8075bc71612819a92661f8110768c178413481e0a0d00bf41fa6
    File { path: "knowledge/rye/errors/test.unknown_key.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/test.unknown_key.md") },
    // 720af829f3a2116c5ff2f1c2a925676c34d9dc1a9b86440adb66cea10f4e4f2a
    File { path: "knowledge/rye/errors/trust.io.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/trust.io.md") },
    // 6a2d88d42bea42e509f67ef2f81ac23d9ac919d63e4b7bbb1b7aedaa17cfed01
    File { path: "knowledge/rye/errors/trust.malformed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/trust.malformed.md") },
    // 752d15dfc1f7616d40dfe478d54a01320ff89a3faac42afddb83418c173257ba
    File { path: "knowledge/rye/errors/trust.not_found.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/trust.not_found.md") },
    // 8b574b3de9242d9ece8514febd8792459e1e74c9e2ae1e4938e61b12890ffcd1
    File { path: "knowledge/rye/errors/trust.unfit.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/trust.unfit.md") },
    // 3a1bdf0321a242a15366c13c9416af5425aeae0ba74a2a95e775029ece1139e4
    File { path: "knowledge/rye/errors/validate.io.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/validate.io.md") },
    // 0bd43d8a3c733d9ca70ee15899c6fed928d8c98e0cb5834884f87176bb6c7fb8
    File { path: "knowledge/rye/errors/validate.space_order.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/validate.space_order.md") },
    // 74fd8762aa7afa711a9c6c499baae1434574dc25b369d2a9ce6a0b55b15cb801
    File { path: "knowledge/rye/errors/validate.target.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/validate.target.md") },
    // a875e234dfc443781fbac7261bd4dc5240d195ea1494f0a0ee60ad5c71b5b9e7
    File { path: "knowledge/rye/errors/validate.version.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/validate.version.md") },
    // 5570b7827fb00357246564dd7dc35a38495f9c2ab84881f32e55b44385017237
    File { path: "knowledge/rye/errors/verify.altered.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.altered.md") },
    // a6afaddbde18ebdabf65e4ab135d7aa720284494c55b119c74e05785849475d5
    File { path: "knowledge/rye/errors/verify.dependency.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.dependency.md") },
    // d9198565362677e8a0fb249dcd2db8c6da7baeb61053cffd76e682ea7e4ba02d
    File { path: "knowledge/rye/errors/verify.dev_signature.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.dev_signature.md") },
    // 118ab4fd88e81a632667b467b1030550b9bcb22bb4c2de87f095c0e0973342bf
    File { path: "knowledge/rye/errors/verify.example_key.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.example_key.md") },
    // 5407b33784f1a173a2f3fbd2f467b9ff227c4dd1e9975149817993f8dc7ce637
    File { path: "knowledge/rye/errors/verify.expired.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.expired.md") },
    // 6c82c7bdf9b3cf1dbaa21d481e2ea230b6e88f656f01150a8c4c1abbc6751f4d
    File { path: "knowledge/rye/errors/verify.forged.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.forged.md") },
    // 02dfb036c44948a28276925c4d6a6c5ff83bca31c36e61fc337230d6e9f139ad
    File { path: "knowledge/rye/errors/verify.legacy.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.legacy.md") },
    // bd65aa90bc866f81eca258d9aabea34b533c721440e997f3ecc3095b6b6fe842
    File { path: "knowledge/rye/errors/verify.malformed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.malformed.md") },
    // dc068c704184c5d3be94a4eb0d6cd8b45f189474f40aa2c917e1e7f498bb101c
    File { path: "knowledge/rye/errors/verify.moved.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.moved.md") },
    // b10986483dd36241b4b759b587a8748621d220d8385dc71ba626951cf72c57a8
    File { path: "knowledge/rye/errors/verify.not_yet.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.not_yet.md") },
    // fdeec4cc390019fa06f243f03f51a371a7597066cf8a44f3edcc04aba89ecdce
    File { path: "knowledge/rye/errors/verify.out_of_scope.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.out_of_scope.md") },
    // bfc8c8c377413debd5a4e40914d0387f36c3484fd63a9f5189f01e45e303eaf9
    File { path: "knowledge/rye/errors/verify.project_not_accepted.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.project_not_accepted.md") },
    // 27ff127d63d810525cac301372573ca652f0db5ed920693fde4865a0fa9c7e12
    File { path: "knowledge/rye/errors/verify.revoked.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.revoked.md") },
    // 86d4ffca1216c5550226299386dd510a2e187f1cfa71cdd6ac18c7a843bab675
    File { path: "knowledge/rye/errors/verify.rolled_back.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.rolled_back.md") },
    // b6f0d44aca65f3980631aec348d0009dad27d860632b4f214c305017d40fd822
    File { path: "knowledge/rye/errors/verify.signer_changed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.signer_changed.md") },
    // cd438b0d2b42ddb3169e42b63d76d954b954d15dac2a72e650de81256352c24f
    File { path: "knowledge/rye/errors/verify.space_changed.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.space_changed.md") },
    // a4b8b7767f42f680c92f3208fa0a24e4aa7dacb8644e5ec56525c0d7d8ef0f66
    File { path: "knowledge/rye/errors/verify.stray_signature_line.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.stray_signature_line.md") },
    // cbfc9540f3aace2868ab5d3148d9455cbf5fafbadf7a40c6b3c2f8aa87292c28
    File { path: "knowledge/rye/errors/verify.trust_unreadable.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.trust_unreadable.md") },
    // 27b5b8be0169a6850bc410f4eb6f6dedff335dbf3ba70ba27836c2fac16d1603
    File { path: "knowledge/rye/errors/verify.unsigned.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.unsigned.md") },
    // 0cb081491e46743e8e42950cb1cf72be7316bf864e6ced48318eb5e322f8ce63
    File { path: "knowledge/rye/errors/verify.untrusted.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.untrusted.md") },
    // 410050baa1c0757d8ed73729d1e726ad7b7f75d52c66aba39744b619000cad43
    File { path: "knowledge/rye/errors/verify.weak_key.md", bytes: include_bytes!("../../.ai/knowledge/rye/errors/verify.weak_key.md") },
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
    // 180b65d6e3050d1717378a40e21e159754040ba2a4eddee04eb79e46f6e4a70a
    File { path: "knowledge/rye/testing.md", bytes: include_bytes!("../../.ai/knowledge/rye/testing.md") },
    // e70885749dfbbc5f0a4ca99d0041adaaee683978dba2eb5397cb7feb222cf345
    File { path: "knowledge/rye/threat-model.md", bytes: include_bytes!("../../.ai/knowledge/rye/threat-model.md") },
    // b0c27eabd1022e9a3b3862b044dcbd1b0d9fb0b2b69c6895e2ff0dd3be55a0ab
    File { path: "knowledge/rye/tools.md", bytes: include_bytes!("../../.ai/knowledge/rye/tools.md") },
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
