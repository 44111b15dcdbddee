import type { Context } from "@/lib/context";
import { listMessages } from "@/lib/push/admin/list-messages";
import { countPaused, listPauses } from "@/lib/push/admin/pauses";
import { MessagesQuery, type Statistics, StatisticsQuery } from "@/lib/push/admin/schema";
import { readStatistics } from "@/lib/push/admin/statistics";
import { BarChart } from "../components/chart";
import { Filters, SelectFilter } from "../components/filters";
import { formatCount } from "../components/format-numbers";
import { PageHead, Section } from "../components/headings";
import { EmptyState } from "../components/states";
import { List } from "../components/table";
import { Ago } from "../components/time";
import { consolePage } from "../frame/console-page";
import { MESSAGE_COLUMNS } from "./message-columns";
import { Outcomes } from "./outcomes";
import { Pauses } from "./pauses";
import { PushTabs } from "./push-tabs";
import { STATE_LABELS } from "./status";

export const metadata = { title: "Push" };

const PERIODS = { day: "24 hours", month: "30 days" };
const MAX_DUE = 1_000;

export default consolePage(
  {
    query: MessagesQuery.omit({ account: true }).extend(StatisticsQuery.shape),
    done: {
      pause_ended: "The pause has ended. What waited is sent now.",
      retried: "Failed notifications that have not expired are queued again.",
    },
  },
  async ({ ctx, query: { period = "day", by, ...page } }) => {
    const [statistics, { messages, nextCursor }, pauses] = await Promise.all([
      readStatistics(ctx, { period }),
      listMessages(ctx, { by, ...page }),
      pausesWithCounts(ctx),
    ]);
    return (
      <>
        <PageHead title="Push" lead={<Queue queue={statistics.queue} />} />
        <PushTabs current="/console/push" />
        <Pauses pauses={pauses} />
        <Filters>
          <SelectFilter name="period" label="Period" value={period} options={PERIODS} any={null} />
          <SelectFilter name="by" label="Messages" value={by} options={{ operator: "Sent by operators" }} />
        </Filters>
        <div className="columns">
          <Section title={`Notifications in ${PERIODS[period]}`}>
            <Throughput buckets={statistics.buckets} period={period} />
          </Section>
          <Section title="Outcomes by reason">
            <Outcomes outcomes={statistics.outcomes} />
          </Section>
        </div>
        <List
          title="Messages"
          caption="Messages, the newest first"
          columns={MESSAGE_COLUMNS}
          rows={messages}
          empty={<EmptyState title="There are no messages">Send one, or announce a version.</EmptyState>}
          nextCursor={nextCursor}
        />
      </>
    );
  },
);

async function pausesWithCounts(ctx: Pick<Context, "db" | "dbNow">) {
  const { pauses } = await listPauses(ctx);
  return Promise.all(pauses.map(async (one) => ({ ...one, waiting: await countPaused(ctx, one.environment) })));
}

function Queue({ queue: { due, oldestDueAt } }: Pick<Statistics, "queue">) {
  if (due === 0) return "Nothing waits to be sent now.";
  return (
    <>
      {due === MAX_DUE ? `${formatCount(due)} or more are` : due === 1 ? "1 is" : `${formatCount(due)} are`} due; the
      oldest was due <Ago at={oldestDueAt} />.
    </>
  );
}

function Throughput({ buckets, period }: Pick<Statistics, "buckets"> & { period: "day" | "month" }) {
  const [from, to] = period === "day" ? [11, 16] : [5, 10];
  return (
    <BarChart
      title="Notifications by outcome"
      labels={buckets.map(({ at }) => at.toISOString().slice(from, to))}
      series={(["sent", "failed", "cancelled"] as const).map((state) => {
        return { name: STATE_LABELS[state], values: buckets.map((bucket) => bucket[state]) };
      })}
    />
  );
}
