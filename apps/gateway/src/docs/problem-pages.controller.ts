import { Controller, Get, Header, Param } from '@nestjs/common';
import { isProblemCode, Problem } from '#problems';
import { Answers } from '#runtime';
import { problemIndex, problemPage } from './problem-pages.js';

const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Where `type` of every problem leads. */
@Controller('docs/problems')
export class ProblemPagesController {
  /** Every problem code, with what its caller does. */
  @Get()
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('content-security-policy', PAGE_POLICY)
  @Header('cache-control', 'public, max-age=300')
  @Answers({ mediaTypes: ['text/html'] })
  index(): string {
    return problemIndex();
  }

  /** One problem code. */
  @Get(':code')
  @Header('content-security-policy', PAGE_POLICY)
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('cache-control', 'public, max-age=300')
  @Answers({ mediaTypes: ['text/html'] })
  page(@Param('code') code: string): string {
    if (!isProblemCode(code)) throw new Problem('not_found', 'There is no such problem code.');
    return problemPage(code);
  }
}
