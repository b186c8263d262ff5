<?php

declare(strict_types=1);

namespace Penstock;

/** A connection that ended before anything of an answer came. Does not leave Client. */
final class Stale extends \RuntimeException
{
}
