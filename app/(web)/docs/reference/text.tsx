import Markdown from "markdown-to-jsx/react";

/** The document's own words, which are Markdown. */
export function Text({ children, block = false }: { children: string; block?: boolean }) {
  const options = { disableParsingRawHTML: true, wrapper: block ? "div" : "span" } as const;
  return (
    <Markdown options={{ ...options, ...(block ? { forceBlock: true } : { forceInline: true }) }}>{children}</Markdown>
  );
}
