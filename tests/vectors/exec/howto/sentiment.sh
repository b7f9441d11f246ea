#!/bin/sh
# about: the one-shot program of the how-to: says whether a text sounds glad
# row: howto
# call: {"text": "I love this great tool"}
# expect: result {"sentiment": "positive", "score": 2}
# call: {"text": "a bad, sad day"}
# expect: result {"sentiment": "negative", "score": -2}
# call: {"text": "a day"}
# expect: result {"sentiment": "neutral", "score": 0}
# call: {}
# expect: error text is required

read -r line
case $line in
*'"text":"'*) text=${line#*'"text":"'} ;;
*) echo '{"error": "text is required"}'; exit 1 ;;
esac
score=0
for word in $(printf '%s' "$text" | tr 'A-Z' 'a-z' | tr -cs 'a-z' ' '); do
    case $word in
    good | great | love | happy) score=$((score + 1)) ;;
    bad | sad | hate | awful) score=$((score - 1)) ;;
    esac
done
name=neutral
[ $score -gt 0 ] && name=positive
[ $score -lt 0 ] && name=negative
printf '{"result": {"sentiment": "%s", "score": %d}}\n' $name $score
