import type { NewestVersion } from "@/lib/overview/read-newest-versions";
import type { OverviewDays } from "@/lib/overview/read-overview-days";
import { BarChart, LineChart } from "./components/chart";
import { formatDay, formatShare } from "./components/format-numbers";
import { Section } from "./components/headings";
import { type Column, List } from "./components/table";

/** Two weeks by day. */
export function Trends({ days: { dates, metrics } }: { days: OverviewDays }) {
  const labels = dates.map(formatDay);
  const series = (name: string, metric: keyof typeof metrics) => ({ name, values: metrics[metric].days });
  return (
    <div className="columns">
      <Section title="Sign-ups">
        <LineChart title="Sign-ups by day" labels={labels} series={[series("Sign-ups", "sign_ups")]} />
      </Section>
      <Section title="Subscription changes">
        <LineChart
          title="Subscription changes by day"
          labels={labels}
          series={[
            series("Started", "subscriptions_started"),
            series("Canceled", "subscriptions_canceled"),
            series("Expired", "subscriptions_expired"),
          ]}
        />
      </Section>
      <Section title="Update checks">
        <LineChart title="Update checks by day" labels={labels} series={[series("Update checks", "update_checks")]} />
      </Section>
      <Section title="Notifications">
        <BarChart
          title="Notifications by day"
          labels={labels}
          series={[series("Sent", "notifications_sent"), series("Failed", "notifications_failed")]}
        />
      </Section>
    </div>
  );
}

const shareOf = (share: number | null) => (share === null ? "–" : formatShare(share));

const COLUMNS: Column<NewestVersion>[] = [
  {
    head: "Product",
    isRowHead: true,
    cell: ({ product }) => <a href={`/console/releases?${new URLSearchParams({ product })}`}>{product}</a>,
  },
  { head: "Newest version", cell: ({ version }) => version },
  { head: "Run it today", align: "end", cell: ({ share }) => shareOf(share) },
  { head: "A week ago", align: "end", cell: ({ shareWeekAgo }) => shareOf(shareWeekAgo) },
];

/** How far the newest versions have spread. */
export function Adoption({ versions }: { versions: NewestVersion[] }) {
  return (
    <List
      title="Adoption of the newest version"
      lead="The share of a product’s update checks that come from it."
      caption="The newest version of each product on the stable channel"
      columns={COLUMNS}
      rows={versions}
      rowKey={({ product }) => product}
      empty="No release is published on the stable channel"
    />
  );
}
