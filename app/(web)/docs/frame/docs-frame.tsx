import type { ReactNode } from "react";
import { GROUPS } from "../reference/groups";
import "../../styles/reference.css";
import "../../styles/docs-frame.css";
import { Search } from "./search";
import { SEARCH_ENTRIES } from "./search-entries";

type Props = { current: string; children: ReactNode };

const PAGES = [
  { slug: "", title: "Overview" },
  ...GROUPS.map(({ slug, title }) => ({ slug, title })),
  { slug: "schemas", title: "Schemas" },
  { slug: "errors", title: "Errors" },
];

/** A page of the reference with its search and its table of contents. It is in English whatever the visitor reads. */
export function DocsFrame({ current, children }: Props) {
  const operations = GROUPS.find(({ slug }) => slug === current)?.operations ?? [];
  return (
    <div className="docs" lang="en">
      <div className="docs-side">
        <Search entries={SEARCH_ENTRIES} />
        <nav aria-label="API reference">
          <ul>
            {PAGES.map(({ slug, title }) => (
              <li key={slug} className={slug.includes("/") ? "docs-part" : undefined}>
                <a href={`/docs${slug && `/${slug}`}`} aria-current={slug === current ? "page" : undefined}>
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
      <div className="docs-main">{children}</div>
    </div>
  );
}
