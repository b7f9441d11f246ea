#!/usr/bin/env node
// about: the one-shot program of the how-to: says whether a text sounds glad
// row: howto
// call: {"text": "I love this great tool"}
// expect: result {"sentiment": "positive", "score": 2}
// call: {"text": "a bad, sad day"}
// expect: result {"sentiment": "negative", "score": -2}
// call: {"text": "a day"}
// expect: result {"sentiment": "neutral", "score": 0}
// call: {}
// expect: error text is required

const glad = new Set(["good", "great", "love", "happy"]);
const sad = new Set(["bad", "sad", "hate", "awful"]);

const { args } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
if (!args.text) {
  console.log(JSON.stringify({ error: "text is required" }));
  process.exitCode = 1;
} else {
  const words = args.text.toLowerCase().match(/[a-z]+/g) ?? [];
  const score = words.reduce((sum, word) => sum + glad.has(word) - sad.has(word), 0);
  const sentiment = score > 0 ? "positive" : score < 0 ? "negative" : "neutral";
  console.log(JSON.stringify({ result: { sentiment, score } }));
}
