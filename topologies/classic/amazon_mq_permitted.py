"""Lists the attributes that Amazon MQ permits in a broker's configuration, by element.

Only elements that a topology can need are listed.
"""

from collections.abc import Mapping

ENGINE_VERSION = "5.18"
SOURCE = "AWS's schema of configurations for ActiveMQ 5.18.4, amazon-mq-active-mq-5.18.4.xsd in its developer guide"
READ_ON = "2026-11-28"
LISTED = """
broker: advisorySupport allowTempAutoCreationOnSend anonymousProducerAdvisorySupport cacheTempDestinations
  consumerSystemUsagePortion dedicatedTaskRunner deleteAllMessagesOnStartup
  enableMessageExpirationOnActiveDurableSubs keepDurableSubsActive maxPurgedDestinationsPerSweep
  maxSchedulerRepeatAllowed monitorConnectionSplits offlineDurableSubscriberTaskSchedule
  offlineDurableSubscriberTimeout persistenceThreadPriority persistent populateJMSXUserID producerSystemUsagePortion
  rejectDurableConsumers rollbackOnlyOnAsyncException schedulePeriodForDestinationPurge schedulerSupport
  splitSystemUsageForProducersConsumers systemUsage taskRunnerPriority timeBeforePurgeTempDestinations
  useAuthenticatedPrincipalForJMSXUserID useMirroredQueues useTempMirroredQueues useVirtualDestSubs
  useVirtualDestSubsOnCreation useVirtualTopics
networkConnector: advisoryAckPercentage advisoryForFailedForward advisoryPrefetchSize alwaysSyncSend bridgeFactory
  bridgeTempDestinations brokerName brokerURL checkDuplicateMessagesOnDuplex clientIdToken
  conduitNetworkQueueSubscriptions conduitSubscriptions connectionFilter consumerPriorityBase consumerTTL
  decreaseNetworkConsumerPriority destinationFilter dispatchAsync duplex dynamicOnly gcDestinationViews gcSweepTime
  localUri messageTTL name networkTTL objectName prefetchSize staticBridge suppressDuplicateQueueSubscriptions
  suppressDuplicateTopicSubscriptions syncDurableSubs uri useBrokerNameAsIdSees useCompression useVirtualDestSubs
  userName
transportConnector: name rebalanceClusterClients updateClusterClients updateClusterClientsOnRemove
kahaDB: checkpointInterval cleanupOnStop concurrentStoreAndDispatchQueues indexWriteBatchSize
  journalDiskSyncInterval journalDiskSyncStrategy preallocationStrategy
policyEntry: advisoryForConsumed advisoryForDelivery advisoryForDiscardingMessages advisoryForDispatched
  advisoryForFastProducers advisoryForSlowConsumers advisoryWhenFull allConsumersExclusiveByDefault
  alwaysRetroactive blockedProducerWarningInterval consumersBeforeDispatchStarts cursorMemoryHighWaterMark
  doOptimzeMessageStorage durableTopicPrefetch enableAudit expireMessagesPeriod gcInactiveDestinations
  gcWithNetworkConsumers inactiveTimeoutBeforeGC inactiveTimoutBeforeGC includeBodyForAdvisory lazyDispatch
  maxAuditDepth maxBrowsePageSize maxDestinations maxExpirePageSize maxPageSize maxProducersToAudit
  maxQueueAuditDepth memoryLimit messageGroupMapFactoryType minimumMessageSize optimizeMessageStoreInFlightLimit
  optimizedDispatch persistJMSRedelivered prioritizedMessages producerFlowControl queue queueBrowserPrefetch
  queuePrefetch reduceMemoryFootprint sendAdvisoryIfNoConsumers sendDuplicateFromStoreToDLQ sendFailIfNoSpace
  sendFailIfNoSpaceAfterTimeout storeUsageHighWaterMark strictOrderDispatch tempQueue tempTopic
  timeBeforeDispatchStarts topic topicPrefetch useCache useConsumerPriority usePrefetchExtension
  useTopicSubscriptionInflightStats
conditionalNetworkBridgeFilterFactory: rateDuration rateLimit replayDelay replayWhenNoConsumers selectorAware
sharedDeadLetterStrategy: enableAudit expiration maxAuditDepth maxProducersToAudit processExpired
  processNonPersistent
individualDeadLetterStrategy: destinationPerDurableSubscriber enableAudit expiration maxAuditDepth
  maxProducersToAudit processExpired processNonPersistent queuePrefix queueSuffix topicPrefix topicSuffix
  useQueueForQueueMessages useQueueForTopicMessages
systemUsage: sendFailIfNoSpace sendFailIfNoSpaceAfterTimeout
memoryUsage: percentOfJvmHeap
queue: DLQ physicalName
topic: DLQ physicalName
"""
"""From `SOURCE`, read on `READ_ON`. The schema for 5.19.1 adds maxUncommittedCount of ``broker``."""

DOCUMENTED: Mapping[str, frozenset[str]] = {"broker": frozenset({"networkConnectorStartAsync"})}
"""Attributes that the guide's page on parent elements documents, although the schema lacks them."""


def permitted(element: str) -> frozenset[str]:
    """Return the attributes that the element may have. KeyError for an element that is not listed."""
    return PERMITTED[element] | DOCUMENTED.get(element, frozenset())


def _parsed(text: str) -> dict[str, frozenset[str]]:
    """Parse ``element: attribute attribute …``, with indented further lines."""
    entries = text.strip().replace("\n  ", " ").splitlines()
    parts = (entry.partition(":") for entry in entries)
    return {element: frozenset(attributes.split()) for element, _, attributes in parts}


PERMITTED: Mapping[str, frozenset[str]] = _parsed(LISTED)
