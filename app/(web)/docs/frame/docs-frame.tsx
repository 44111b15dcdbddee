import type { ReactNode } from "react";
import { ERRORS, type ErrorCode } from "@/lib/errors";
import { api } from "../reference/document";
import { GROUPS, type Group } from "../reference/groups";
import { PAGES } from "../reference/pages";
import { Search, type SearchEntry } from "./search";
import "../../styles/reference.css";
import "../../styles/docs-frame.css";

/** What the search finds: operations by their path, title and fields; webhooks; schemas; error codes. */
export const SEARCH_ENTRIES: SearchEntry[] = [
  ...GROUPS.flatMap(({ slug, operations }) =>
    operations.map(({ method, path, summary, operationId }) => ({
      title: `${method} ${path}`,
      text: summary,
      href: `/docs/${slug}#${operationId}`,
    })),
  ),
  ...Object.entries(api.webhooks).map(([type, { post }]) => ({
    title: type,
    text: `Webhook: ${post.summary}`,
    href: `/docs/webhooks#${post.operationId}`,
  })),
  ...Object.entries(api.components.schemas).map(([name, { properties = {} }]) => ({
    title: name,
    text: `Schema: ${Object.keys(properties).join(", ")}`,
    href: `/docs/schemas#schema-${name}`,
  })),
  ...(Object.keys(ERRORS) as ErrorCode[]).map((code) => ({
    title: code,
    text: `${ERRORS[code][0]}: ${ERRORS[code][1]}`,
    href: `/docs/errors#${code}`,
  })),
];

type Props = { current: string; children: ReactNode };

/** A page of the reference with its search and its table of contents. It is in English whatever the visitor reads. */
export function DocsFrame({ current, children }: Props) {
  const operations = GROUPS.find(({ slug }) => slug === current)?.operations ?? [];
  const markdown = PAGES.find(({ slug }) => slug === current)?.markdown;
  return (
    <div className="docs" lang="en">
      <link rel="alternate" type="text/markdown" href={markdown} />
      <div className="docs-side">
        <Search entries={SEARCH_ENTRIES} />
        <nav aria-label="API reference">
          <ul>
            {PAGES.map(({ slug, title, path }) => (
              <li key={slug} className={slug.includes("/") ? "docs-part" : undefined}>
                <a href={path} aria-current={slug === current ? "page" : undefined}>
                  {title.replace(/^Operators: /, "")}
                </a>
                {slug === current && operations.length > 0 && (
                  <ul className="docs-operations">
                    {operations.map(({ operationId, summary, method }) => (
                      <li key={operationId}>
                        <a href={`#${operationId}`}>
                          <span className="method">{method}</span> {summary}
                        </a>
                      </li>
                    ))}
                  </ul>
                )}
              </li>
            ))}
          </ul>
        </nav>
      </div>
      <div className="docs-main">
        {children}
        <p className="aside">
          <a href={markdown}>This page as Markdown</a>
        </p>
      </div>
    </div>
  );
}

/** Links to the pages of groups. */
export function GroupTiles({ groups }: { groups: readonly Group[] }) {
  return (
    <ul className="tiles">
      {groups.map(({ slug, title, intro }) => (
        <li key={slug}>
          <a href={`/docs/${slug}`}>{title}</a>
          <p>{intro}</p>
        </li>
      ))}
    </ul>
  );
}
