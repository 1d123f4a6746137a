import type { Readable } from 'node:stream';
import type { Markup } from '#paper';
import type { Screen } from './screen.js';
import type { Visit } from './visit.js';

/** What a page or an action of the screen leads to. */
export type Answer =
  | { readonly kind: 'page'; readonly title: string; readonly body: Markup; readonly status?: number }
  /** A part of a page, for the page's script. */
  | { readonly kind: 'part'; readonly body: Markup }
  /** A whole document that was made elsewhere. */
  | { readonly kind: 'document'; readonly html: string }
  | { readonly kind: 'file'; readonly name: string; readonly mediaType: string; readonly content: Readable }
  | { readonly kind: 'go'; readonly to: string }
  | { readonly kind: 'status'; readonly status: 204 | 401 };

export type Page = (screen: Screen, visit: Visit) => Answer | Promise<Answer>;
export type Action = (screen: Screen, visit: Visit, form: URLSearchParams) => Answer | Promise<Answer>;
