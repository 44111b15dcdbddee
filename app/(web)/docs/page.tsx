import { pageContext } from "@/lib/auth/visitor";
import { DocsFrame, GroupTiles } from "./frame/docs-frame";
import { OldLinks } from "./frame/old-links";
import { api } from "./reference/document";
import { GROUPS, operationHref } from "./reference/groups";
import { Heading } from "./reference/heading";
import { MarkdownText } from "./reference/markdown";
import { Samples } from "./reference/samples";
import { sampleRequest } from "./samples/request";

export const metadata = { title: "API reference" };
export const isStatic = true;

/** Where the parts of the former single page are. */
const OLD_LINKS: Record<string, string> = Object.fromEntries([
  ...GROUPS.flatMap(({ operations }) => operations.map(({ operationId }) => [operationId, operationHref(operationId)])),
  ...Object.keys(api.components.schemas).map((name) => [`schema-${name}`, `/docs/schemas#schema-${name}`]),
  ["schemas", "/docs/schemas"],
  ...Object.entries({
    Core: "desktop",
    Accounts: "web",
    Sessions: "next-auth",
    OAuth: "desktop",
    Billing: "billing",
    Push: "ios",
    Admin: "operators",
  }).map(([tag, slug]) => [`tag-${tag}`, `/docs/${slug}`]),
]);

export default function Page() {
  return (
    <DocsFrame current="">
      <OldLinks hrefs={OLD_LINKS} />
      <h1>API reference</h1>
      <p className="lead">
        Every operation with its parameters and responses, generated from <a href="/openapi.json">openapi.json</a>{" "}
        (OpenAPI 3.1).
      </p>
      <Authentication />
      <Heading level={2} id="conventions" name="Conventions">
        Conventions
      </Heading>
      <MarkdownText block>{api.info.description}</MarkdownText>
      <Heading level={2} id="clients" name="By client">
        By client
      </Heading>
      <GroupTiles groups={GROUPS.filter(({ slug }) => !slug.includes("/"))} />
    </DocsFrame>
  );
}

function Authentication() {
  const operations = GROUPS.flatMap((group) => group.operations);
  const [signIn, status] = ["logIn", "getSubscriptionStatus"].map((id) =>
    operations.find(({ operationId }) => operationId === id),
  );
  const { baseUrl } = pageContext().config;
  return (
    <section aria-labelledby="authentication">
      <Heading level={2} id="authentication" name="Authentication">
        Authentication
      </Heading>
      {signIn && (
        <>
          <p>
            Sign in once. Keep the <code>token</code> of the response:
          </p>
          <Samples request={sampleRequest(signIn, baseUrl)} />
        </>
      )}
      {status && (
        <>
          <p>Then send it with every request:</p>
          <Samples request={sampleRequest(status, baseUrl)} />
        </>
      )}
      <dl className="fields">
        {Object.entries(api.components.securitySchemes).map(([name, { description }]) => (
          <div key={name} id={`auth-${name}`}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd>
              <MarkdownText>{description}</MarkdownText>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
