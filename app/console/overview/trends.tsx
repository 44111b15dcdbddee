import type { OverviewDays } from "@/lib/overview/read-overview-days";
import { BarChart, LineChart } from "../components/chart";
import { Section } from "../components/headings";

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** Two weeks by day. */
export function Trends({ days: { dates, metrics } }: { days: OverviewDays }) {
  const labels = dates.map((date) => DAY.format(date));
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
