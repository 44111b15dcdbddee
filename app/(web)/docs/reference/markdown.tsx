import Markdown from "markdown-to-jsx/react";

/** Renders Markdown of the OpenAPI document. */
export function MarkdownText({ children, block = false }: { children: string; block?: boolean }) {
  const options = { disableParsingRawHTML: true, wrapper: block ? "div" : "span" } as const;
  return (
    <Markdown options={{ ...options, ...(block ? { forceBlock: true } : { forceInline: true }) }}>{children}</Markdown>
  );
}
