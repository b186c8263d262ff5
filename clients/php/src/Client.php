<?php

declare(strict_types=1);

namespace Penstock;

/**
 * Asks POST /v1/check on one persistent connection for each PHP process (FPM, mod_php), which outlives the
 * request. For programs that serve several requests in one process at a time (Swoole, ReactPHP) it is not made.
 */
final class Client
{
    private const ANSWER_MAX = 1048576;

    private string $remote;
    private string $host = 'penstock';
    /** @var resource|null */
    private $busy = null;

    /**
     * @param string $url        http://HOST:PORT or unix:PATH
     * @param string|null $token the secret of the policy's decision.token_sha256
     * @param int $deadlineMs    longest wait for a decision; looking up a host name is not part of it
     */
    public function __construct(
        string $url = 'http://127.0.0.1:8081',
        private readonly ?string $token = null,
        private readonly int $deadlineMs = 50,
    ) {
        if ($token !== null && !ctype_print($token)) {
            throw new \InvalidArgumentException('the token has octets that a header field cannot hold');
        }
        if (str_starts_with($url, 'unix:')) {
            $this->remote = 'unix://' . substr($url, strlen('unix:'));
            return;
        }
        $at = parse_url($url);
        if (($at['scheme'] ?? '') !== 'http' || !isset($at['host'])) {
            throw new \InvalidArgumentException("$url is neither http://HOST:PORT nor unix:PATH");
        }
        $this->host = $at['host'] . ':' . ($at['port'] ?? 80);
        // What follows the port makes the connection ours among the persistent ones of the process.
        $this->remote = "tcp://$this->host/penstock";
    }

    /**
     * @param array<string, mixed> $check as docs/openapi.yaml describes it
     * @throws Undecided
     */
    public function ask(array $check): Decision
    {
        $until = hrtime(true) + $this->deadlineMs * 1000000;
        $body = json_encode($check, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE);
        $question = "POST /v1/check HTTP/1.1\r\nHost: $this->host\r\nContent-Type: application/json\r\n"
            . 'Content-Length: ' . strlen($body) . "\r\n"
            . ($this->token === null ? '' : "Authorization: Bearer $this->token\r\n") . "\r\n" . $body;
        do {
            $stream = $this->connect($until);
            $kept = ftell($stream) > 0;
            $this->busy = $stream;
            try {
                [$status, $answer, $keep] = $this->exchange($stream, $question, $until);
            } catch (Stale $stale) {
                // Closed meanwhile, as it is after a restart of the service: ask once more on a fresh one.
                $this->drop();
                if ($kept) {
                    continue;
                }
                throw new Undecided($stale->getMessage());
            } catch (Undecided $undecided) {
                $this->drop();
                throw $undecided;
            }
            if (!$keep) {
                $this->drop();
            }
            $this->busy = null;
            return Decision::read($status, $answer);
        } while (true);
    }

    /** @return resource */
    private function connect(int $until)
    {
        static $guarded = false;
        if (!$guarded) {
            // A script that ends within an exchange must not leave its answer to the next one.
            register_shutdown_function(fn () => $this->drop());
            $guarded = true;
        }
        $flags = STREAM_CLIENT_CONNECT | STREAM_CLIENT_PERSISTENT;
        $stream = @stream_socket_client($this->remote, $code, $message, $this->left($until) / 1e9, $flags);
        if ($stream === false) {
            $this->left($until);
            throw new Undecided($message ?: "error $code");
        }
        stream_set_blocking($stream, false);
        return $stream;
    }

    /**
     * @param resource $stream
     * @return array{int, string, bool} status, body, whether the connection stays
     */
    private function exchange($stream, string $question, int $until): array
    {
        while ($question !== '') {
            $this->wait($stream, true, $until);
            $written = @fwrite($stream, $question);
            if ($written === false || ($written === 0 && feof($stream))) {
                throw new Stale('the service closed the connection');
            }
            $question = substr($question, $written);
        }
        $answer = '';
        do {
            $this->wait($stream, false, $until);
            $part = @fread($stream, 65536);
            if ($part === false || ($part === '' && feof($stream))) {
                $what = 'the service closed the connection';
                throw $answer === '' ? new Stale($what) : new Undecided($what);
            }
            $answer .= $part;
            $complete = self::complete($answer);
        } while ($complete === null);
        return $complete;
    }

    /**
     * The service always says Content-Length; anything else is not it.
     *
     * @return array{int, string, bool}|null null: more is to come
     */
    private static function complete(string $answer): ?array
    {
        $end = strpos($answer, "\r\n\r\n");
        if ($end === false) {
            if (strlen($answer) > 16384) {
                throw new Undecided('the head of the answer does not end');
            }
            return null;
        }
        $head = substr($answer, 0, $end + 2);
        if (!preg_match('~^HTTP/1\.1 (\d{3}) ~', $head, $status)
            || !preg_match('~^content-length: *(\d{1,7})\r$~mi', $head, $length) || $length[1] > self::ANSWER_MAX) {
            throw new Undecided('the answer is not one of the decision service');
        }
        $body = substr($answer, $end + 4);
        if (strlen($body) > (int) $length[1]) {
            throw new Undecided('more came than the answer');
        }
        $keep = !preg_match('~^connection: *close *\r$~mi', $head);
        return strlen($body) < (int) $length[1] ? null : [(int) $status[1], $body, $keep];
    }

    /** @param resource $stream */
    private function wait($stream, bool $toWrite, int $until): void
    {
        $read = $toWrite ? [] : [$stream];
        $write = $toWrite ? [$stream] : [];
        $except = [];
        $microseconds = intdiv($this->left($until), 1000) + 1;
        @stream_select($read, $write, $except, intdiv($microseconds, 1000000), $microseconds % 1000000);
        $this->left($until);
    }

    /** Nanoseconds until then. */
    private function left(int $until): int
    {
        $left = $until - hrtime(true);
        if ($left <= 0) {
            throw new Undecided("no answer within $this->deadlineMs ms");
        }
        return $left;
    }

    private function drop(): void
    {
        if (is_resource($this->busy)) {
            fclose($this->busy); // also a persistent one
        }
        $this->busy = null;
    }
}
