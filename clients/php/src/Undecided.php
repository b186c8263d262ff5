<?php

declare(strict_types=1);

namespace Penstock;

/** There is no decision: the service is away, late, or does not take the question. */
final class Undecided extends \RuntimeException
{
}
