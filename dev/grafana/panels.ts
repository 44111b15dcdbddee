/** A panel of the dashboard: its PromQL by legend. `unit` is one of Grafana's. */
export type Panel = { title: string; unit: string; description: string; queries: Record<string, string> };

const RATE = "$__rate_interval";
const REQUESTS = "homeport_http_request_duration_seconds";
const JOB = 'job="$job"';
const quantile = (share: number, labels: string, by = "") =>
  `histogram_quantile(${share}, sum by (le${by}) (rate(${REQUESTS}_bucket{${JOB}${labels}}[${RATE}])))`;
const requests = (labels: string, by: string) => `sum by (${by}) (rate(${REQUESTS}_count{${JOB}${labels}}[${RATE}]))`;
const route = (pattern: string) => `, route=~"${pattern}"`;

/** The rows of the dashboard, each with its panels. */
export const ROWS: { title: string; panels: Panel[] }[] = [
  {
    title: "Service",
    panels: [
      {
        title: "Requests by status",
        unit: "reqps",
        description: "Requests a second. 4xx are the clients' errors, 5xx the service's.",
        queries: {
          "{{class}}": `sum by (class) (label_replace(rate(${REQUESTS}_count{${JOB}}[${RATE}]), "class", "$1xx", "status", "(.).."))`,
        },
      },
      {
        title: "Errors by route",
        unit: "reqps",
        description: "5xx a second: see “Errors” in docs/operate.md.",
        queries: { "{{route}} {{status}}": `${requests(', status=~"5.."', "route, status")} or vector(0)` },
      },
      {
        title: "Duration",
        unit: "s",
        description: "Of all requests, without the time to receive the body.",
        queries: { p50: quantile(0.5, ""), p95: quantile(0.95, ""), p99: quantile(0.99, "") },
      },
      {
        title: "Slowest routes, p95",
        unit: "s",
        description: "Sign-in and registration hash a password, which takes a quarter of a second.",
        queries: { "{{route}}": `topk(5, ${quantile(0.95, "", ", route")})` },
      },
      {
        title: "CPU",
        unit: "percentunit",
        description: "Of one core, by process. A process uses one core for requests, and a few threads for passwords.",
        queries: { "{{instance}}": `rate(process_cpu_seconds_total{${JOB}}[${RATE}])` },
      },
      {
        title: "Memory",
        unit: "bytes",
        description: "Resident memory by process.",
        queries: { "{{instance}}": `process_resident_memory_bytes{${JOB}}` },
      },
      {
        title: "Backup age",
        unit: "s",
        description: "Since the last successful backup: see “Backup too old” in docs/operate.md.",
        queries: { age: `time() - max(homeport_backup_last_success_timestamp_seconds{${JOB}})` },
      },
      {
        title: "Event loop lag, p99",
        unit: "s",
        description: "How late a timer fires. Above 0.5 s, requests wait for each other.",
        queries: { "{{instance}}": `nodejs_eventloop_lag_p99_seconds{${JOB}}` },
      },
      {
        title: "Uptime",
        unit: "s",
        description: "Since the process has started.",
        queries: { "{{instance}}": `time() - process_start_time_seconds{${JOB}}` },
      },
    ],
  },
  {
    title: "Updates",
    panels: [
      {
        title: "Update checks",
        unit: "reqps",
        description: "By installers and auto-updaters.",
        queries: { "{{route}}": requests(route("/api/(version|updates).*"), "route") },
      },
      {
        title: "Downloads",
        unit: "reqps",
        description: "Requests, ranges of a file included.",
        queries: { "{{status}}": requests(route("/api/download.*"), "status") },
      },
    ],
  },
  {
    title: "Accounts",
    panels: [
      {
        title: "Sign-ups in the last hour",
        unit: "short",
        description: "Accounts that were created in the last hour.",
        queries: { accounts: `max(homeport_accounts_created_last_hour{${JOB}})` },
      },
      {
        title: "Requests for accounts",
        unit: "reqps",
        description: "401 is a wrong password, 429 a limit.",
        queries: { "{{status}}": requests(route("/api/auth.*|/forms.*"), "status") },
      },
    ],
  },
  {
    title: "Billing",
    panels: [
      {
        title: "Events",
        unit: "cps",
        description: "Deliveries of the billing provider, by outcome.",
        queries: { "{{state}}": `sum by (state) (rate(homeport_billing_events_total{${JOB}}[${RATE}]))` },
      },
      {
        title: "Inbox",
        unit: "short",
        description: "Events that are not applied yet or have failed, and customers that are due to be reconciled.",
        queries: {
          events: `max(homeport_billing_events_pending{${JOB}})`,
          failed: `max(homeport_billing_events_failed{${JOB}})`,
          reconciliations: `max(homeport_billing_reconciles_due{${JOB}})`,
        },
      },
      {
        title: "Inbox lag",
        unit: "s",
        description: "How long the oldest has waited.",
        queries: {
          events: `max(homeport_billing_events_pending_oldest_age_seconds{${JOB}})`,
          reconciliations: `max(homeport_billing_reconciles_due_oldest_age_seconds{${JOB}})`,
        },
      },
      {
        title: "Renewals",
        unit: "short",
        description:
          "Subscriptions that renew within the hour, and those whose renewal is overdue by an hour to a day.",
        queries: {
          due: `max(homeport_billing_renewals_due{${JOB}})`,
          overdue: `max(homeport_billing_renewals_overdue{${JOB}})`,
        },
      },
      {
        title: "Reconciliations",
        unit: "cps",
        description: "What was compared with the providers, by outcome.",
        queries: {
          "{{provider}} {{outcome}}": `sum by (provider, outcome) (rate(homeport_billing_reconciles_total{${JOB}}[${RATE}])) > 0 or vector(0)`,
        },
      },
      {
        title: "Lost events",
        unit: "short",
        description: "Events that were found because their webhook did not arrive, and providers whose API is paused.",
        queries: {
          "{{provider}}": `sum by (provider) (increase(homeport_billing_events_recovered_total{${JOB}}[${RATE}]))`,
          paused: `max(homeport_billing_apis_paused{${JOB}})`,
        },
      },
      {
        title: "Age of the providers' events",
        unit: "s",
        description: "How long ago the events of a provider were read to the end.",
        queries: { oldest: `max(homeport_billing_sweep_oldest_age_seconds{${JOB}})` },
      },
    ],
  },
  {
    title: "Push and email",
    panels: [
      {
        title: "Notifications by result",
        unit: "cps",
        description: "Attempts to deliver through APNs.",
        queries: { "{{result}}": `sum by (result) (rate(homeport_push_deliveries_total{${JOB}}[${RATE}]))` },
      },
      {
        title: "Queues",
        unit: "short",
        description: "Notifications and emails that are not sent yet.",
        queries: {
          notifications: `max(homeport_push_outbox_depth{${JOB}})`,
          emails: `max(homeport_mail_queue_depth{${JOB}})`,
        },
      },
      {
        title: "Queue lag",
        unit: "s",
        description: "How long the oldest has waited.",
        queries: {
          notifications: `max(homeport_push_outbox_oldest_age_seconds{${JOB}})`,
          emails: `max(homeport_mail_queue_oldest_age_seconds{${JOB}})`,
        },
      },
    ],
  },
];
