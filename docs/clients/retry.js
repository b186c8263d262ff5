// Polite retries with Node's own fetch (18 or later; browsers too): node retry.js URL [COUNT]
//
// Waits what Retry-After says, else twice as long after each attempt, and always a random part of
// that (full jitter), so that clients which were refused together do not return together.
'use strict';

const ATTEMPTS = 6;
const BASE = 0.5; // seconds: the first backoff …
const CAP = 60; // … and the longest wait that is worth it

// Seconds from a Retry-After field, which holds a number or a date; null without a usable one.
function retryAfter(value) {
  if (value === null) return null;
  if (/^[0-9]+$/.test(value)) return Number(value);
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, (date - Date.now()) / 1000);
}

// How long to wait before attempt 1, 2, …: never less than was told, and never in step.
function waitBefore(attempt, told) {
  if (told !== null) return told + Math.random() * Math.min(1, told / 10 + 0.1);
  return Math.random() * Math.min(CAP, BASE * 2 ** attempt);
}

// The answer. Throws when the last attempt failed or a wait is not worth it.
async function get(url) {
  for (let attempt = 1; ; ++attempt) {
    let told = null;
    try {
      const answer = await fetch(url, { signal: AbortSignal.timeout(30_000) });
      // 429 and 503 ask for patience. Other errors do not get better by asking again.
      if (answer.status !== 429 && answer.status !== 503) return answer;
      told = retryAfter(answer.headers.get('Retry-After'));
      // A 429 without the field says that this request can never pass.
      if (attempt === ATTEMPTS || (told === null && answer.status === 429)) return answer;
      await answer.arrayBuffer(); // frees the connection
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
    if (told !== null && told > CAP) throw new Error(`${url}: free again in ${told} s`);
    await new Promise((resolve) => setTimeout(resolve, waitBefore(attempt, told) * 1000));
  }
}

async function main(url, count) {
  for (let n = 0; n < count; ++n) console.log((await get(url)).status);
}

if (require.main === module) {
  main(process.argv[2], Number(process.argv[3] ?? 1)).catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}

module.exports = { get, retryAfter, waitBefore };
