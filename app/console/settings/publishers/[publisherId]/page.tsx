import { publisherOperations } from "@/lib/auth/publishers/operations";
import { getPublisher } from "@/lib/auth/publishers/publishers";
import { type Publisher, PublisherParams } from "@/lib/auth/publishers/schema";
import { CopyButton } from "../../../../(web)/components/copy-button";
import { Action } from "../../../components/action";
import { Badge } from "../../../components/cells";
import { Facts } from "../../../components/facts";
import { PageHead, Section } from "../../../components/headings";
import { Ago } from "../../../components/time";
import { consolePage, parseId, titleOf } from "../../../frame/console-page";
import { TYPES } from "../publisher-fields";
import { workflowOf } from "./workflow";

export const generateMetadata = titleOf(
  "Publishers",
  async ({ ctx, params }) => (await getPublisher(ctx, parseId(PublisherParams, params).publisherId)).name,
);

const NO_TOOLS =
  " Add the package to your repository as homeport.tgz: with INSTALL_PAGE=off it is only in .next/install in the service's folder.";

export default consolePage(
  { role: "admin", done: { added: "The publisher was added. Its jobs can publish from now on." } },
  async ({ ctx, params }) => {
    const publisher = await getPublisher(ctx, parseId(PublisherParams, params).publisherId);
    const { file, text } = workflowOf(publisher, ctx.config);
    return (
      <>
        <PageHead
          title={<bdi>{publisher.name}</bdi>}
          parent={{ href: "/console/settings/publishers", label: "Publishers" }}
          aside={<Badge>{publisher.product}</Badge>}
          actions={<Remove publisher={publisher} />}
        />
        <Section
          title="What is trusted"
          lead="A job whose ID token differs in one of these is refused. The audit trail says in which."
        >
          <PublisherFacts publisher={publisher} />
        </Section>
        <Section
          title={file}
          lead={`Replace the build and the folder that it writes.${ctx.config.INSTALL_PAGE === "on" ? "" : NO_TOOLS}`}
          actions={<CopyButton text={text} name={file} />}
        >
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls a region that has the focus. */}
          <pre tabIndex={0}>{text}</pre>
        </Section>
      </>
    );
  },
);

function PublisherFacts({ publisher }: { publisher: Publisher }) {
  const { type, issuer, repository, workflow, environment, ref, claims, product, channel } = publisher;
  const { repositoryId, ownerId, createdAt, lastUsedAt } = publisher;
  const isNamed = type !== "oidc";
  return (
    <Facts
      entries={[
        ["CI service", TYPES[type]],
        ["Issuer", <bdi key="issuer">{issuer}</bdi>],
        isNamed && ["Repository", <bdi key="repository">{repository}</bdi>],
        isNamed && ["Workflow", <bdi key="workflow">{workflow}</bdi>],
        isNamed && ["Environment", environment === null ? "Any, or none" : <bdi key="environment">{environment}</bdi>],
        ...Object.entries(claims).map(([name, value]) => [name, <bdi key={name}>{value}</bdi>] as const),
        ["Ref", ref ?? "All"],
        ["Publishes", `${product} on ${channel ?? "every channel"}`],
        isNamed && ["Repository ID", repositoryId ?? "Set by the first job"],
        isNamed && ["Owner ID", ownerId ?? "Set by the first job"],
        ["Added", <Ago key="added" at={createdAt} />],
        ["Last used", <Ago key="used" at={lastUsedAt} />],
      ]}
    />
  );
}

function Remove({ publisher: { id, name, product } }: { publisher: Publisher }) {
  return (
    <Action
      operation={publisherOperations.removePublisher}
      label="Remove"
      name={name}
      title={
        <>
          Remove “<bdi>{name}</bdi>”?
        </>
      }
      submit="Remove the publisher"
      params={{ publisherId: id }}
      isDanger
    >
      <p>
        Its jobs can no longer publish {product}, also those that run now. What it has published stays. Adding it again
        trusts the ids of the repository anew.
      </p>
    </Action>
  );
}
