import { declare } from "@/lib/operation";
import { defineRoute } from "@/lib/platform/http/route";
import { RouteResponse } from "@/lib/platform/http-message";
import { PAGES } from "../(web)/docs/reference/pages";

/** What the service is, and where its documentation is, for language models (llmstxt.org). */
export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = defineRoute("/llms.txt", {
  GET: declare({
    summary: "Get the list of the reference's pages",
    database: false,
    writes: "raw",
    response: { status: 200, schema: null },
    run: ({ ctx: { config } }) =>
      new RouteResponse(200, listOf(config), {
        "Content-Type": "text/plain; charset=utf-8",
        "Cache-Control": "public, max-age=3600",
      }),
  }),
});

function listOf({ BRAND_NAME: brand, baseUrl }: { BRAND_NAME: string; baseUrl: string }): string {
  const pages = PAGES.map(({ title, intro, markdown }) => `- [${title}](${baseUrl}${markdown}): ${intro}`);
  return `# ${brand}

> The HTTP API of ${brand}: accounts and sign-in, subscriptions, push notifications, and updates of apps.

The service is at ${baseUrl}. The samples on these pages have example.com in its place.

## API reference

${pages.join("\n")}

## Optional

- [OpenAPI document](${baseUrl}/openapi.json): all operations in one file, in OpenAPI 3.1.
`;
}
