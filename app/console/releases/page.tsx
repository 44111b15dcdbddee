import { countClients, readAdoptionCurve } from "@/lib/releases/adoption/report";
import { catalogFileOf } from "@/lib/releases/catalog/catalog";
import { type CatalogVersion, listVersions, VersionsQuery } from "@/lib/releases/publishing/list-versions";
import { versionPath } from "@/lib/releases/publishing/release-action";
import { ButtonLink } from "../components/action";
import { Badge } from "../components/cells";
import { Filters, SelectFilter } from "../components/filters";
import { formatCount } from "../components/format-numbers";
import { PageHead, Section } from "../components/headings";
import { EmptyState } from "../components/states";
import { type Column, List } from "../components/table";
import { Ago } from "../components/time";
import { consolePage } from "../frame/console-page";
import { hasRole } from "../frame/operator";
import { AdoptionChart, MAX_LINES } from "./adoption-chart";
import { ReadOnlyNotice, targetName, VersionBadges } from "./version-state";

export const metadata = { title: "Releases" };

const CURVE_DAYS = 14;

const columnsOf = (clientsOf: (version: string) => number): Column<CatalogVersion>[] => [
  { head: "Version", isRowHead: true, cell: (row) => <a href={versionPath(row)}>{row.version}</a> },
  { head: "Channel", cell: ({ channel }) => channel },
  { head: "State", cell: (version) => <VersionBadges version={version} /> },
  { head: "Platforms", cell: ({ releases }) => releases.map(targetName).join(", ") },
  { head: "Clients", align: "end", cell: ({ version }) => formatCount(clientsOf(version)) },
  { head: "Released", isTight: true, cell: ({ releasedAt }) => <Ago at={new Date(releasedAt)} /> },
];

export default consolePage({ query: VersionsQuery }, async ({ ctx, operator, query }) => {
  const { product, products, channels, versions, nextCursor } = await listVersions(ctx, query);
  const isEditable = catalogFileOf(ctx.config) !== null;
  const upload = isEditable && hasRole(operator, "admin") && (
    <>
      <ButtonLink href={`/console/releases/policy?${new URLSearchParams({ product: product ?? "core" })}`}>
        Policy
      </ButtonLink>
      <a className="button" href="/console/releases/upload">
        Upload a release
      </a>
    </>
  );
  if (product === undefined) {
    return (
      <>
        <PageHead title="Releases" actions={upload} />
        <ReadOnlyNotice config={ctx.config} />
        <EmptyState title="There are no releases yet">
          Upload the first one, or publish it from your pipeline.
        </EmptyState>
      </>
    );
  }
  const scope = { product, channel: query.channel };
  const curve = await readAdoptionCurve(ctx, { ...scope, days: CURVE_DAYS, limit: MAX_LINES });
  const counts = await countClients(ctx, { ...scope, versions: versions.map(({ version }) => version) });
  return (
    <>
      <PageHead title="Releases" aside={<Badge>{product}</Badge>} actions={upload} />
      <ReadOnlyNotice config={ctx.config} />
      <Filters>
        <SelectFilter name="product" label="Product" value={product} options={namesOf(products)} any={null} />
        <SelectFilter name="channel" label="Channel" value={query.channel} options={namesOf(channels)} />
      </Filters>
      <Section title="Adoption" lead="Distinct clients that checked for updates, by the version that they run.">
        <AdoptionChart curve={curve} />
      </Section>
      <List
        title="Versions"
        lead="Clients are those of yesterday, or of today if none were counted then."
        caption={`Versions of ${product}, the newest first`}
        columns={columnsOf((version) => counts.get(version) ?? 0)}
        rows={versions}
        empty="No version matches these filters"
        nextCursor={nextCursor}
      />
    </>
  );
});

const namesOf = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, name]));
