-- CreateTable
CREATE TABLE "event_renumberings" (
    "id" BOOLEAN NOT NULL DEFAULT true,
    "below" xid8 NOT NULL,
    "next" BIGINT NOT NULL DEFAULT 0,
    "last" BIGINT NOT NULL,

    CONSTRAINT "event_renumberings_pkey" PRIMARY KEY ("id")
);

-- Before which transaction readers of events stop, given what is in flight: also before the numbers of a copy that was put back.
CREATE FUNCTION events_readable_below(in_flight xid8) RETURNS xid8 LANGUAGE sql STABLE AS $$
  SELECT least(in_flight, (SELECT below FROM event_renumberings));
$$;
