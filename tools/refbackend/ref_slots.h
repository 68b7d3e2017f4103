/* ref_slots.h - the slots of all tables of libQnnRef.so, by name and number

   Knows nothing of: the functions in the slots */
#ifndef REF_SLOTS_H
#define REF_SLOTS_H

/* All slots, in the order of their tables. HAS: a function of that name exists; LACKS: the call
   returns 1000. */
#define CORE_SLOTS(HAS, LACKS)                                                                     \
    HAS(propertyHasCapability) HAS(backendCreate) HAS(backendSetConfig)                            \
    HAS(backendGetApiVersion) HAS(backendGetBuildId) HAS(backendRegisterOpPackage)                 \
    HAS(backendGetSupportedOperations) HAS(backendValidateOpConfig) HAS(backendFree)               \
    HAS(contextCreate) HAS(contextSetConfig) HAS(contextGetBinarySize) HAS(contextGetBinary)       \
    HAS(contextCreateFromBinary) HAS(contextFree) HAS(graphCreate) LACKS(graphCreateSubgraph)      \
    HAS(graphSetConfig) HAS(graphAddNode) HAS(graphFinalize) HAS(graphRetrieve)                    \
    HAS(graphExecute) LACKS(graphExecuteAsync) LACKS(tensorCreateContextTensor)                    \
    HAS(tensorCreateGraphTensor) HAS(logCreate) HAS(logSetLogLevel) HAS(logFree)                   \
    HAS(profileCreate) HAS(profileSetConfig) HAS(profileGetEvents) HAS(profileGetSubEvents)        \
    HAS(profileGetEventData) HAS(profileGetExtendedEventData) HAS(profileFree) HAS(memRegister)    \
    HAS(memDeRegister) HAS(deviceGetPlatformInfo) HAS(deviceFreePlatformInfo)                      \
    HAS(deviceGetInfrastructure) HAS(deviceCreate) HAS(deviceSetConfig) HAS(deviceGetInfo)         \
    HAS(deviceFree) LACKS(signalCreate) LACKS(signalSetConfig) LACKS(signalTrigger)                \
    LACKS(signalFree) HAS(errorGetMessage) LACKS(errorGetVerboseMessage)                           \
    LACKS(errorFreeVerboseMessage) LACKS(graphPrepareExecutionEnvironment)                         \
    LACKS(graphReleaseExecutionEnvironment) LACKS(graphGetProperty) HAS(contextValidateBinary)     \
    LACKS(contextCreateFromBinaryWithSignal) LACKS(contextCreateFromBinaryListAsync)               \
    HAS(tensorUpdateGraphTensors) LACKS(tensorUpdateContextTensors)                                \
    LACKS(contextGetBinarySectionSize) LACKS(contextGetBinarySection)                              \
    LACKS(contextApplyBinarySection) LACKS(backendGetProperty) LACKS(contextGetProperty)           \
    LACKS(contextGetIncrementalBinary) LACKS(contextReleaseIncrementalBinary)                      \
    LACKS(contextFinalize) HAS(globalConfigSet) LACKS(contextCreateFromBinaryWithCallback)         \
    LACKS(contextGetBinarySectionUpdate) LACKS(contextFreeBinarySectionUpdate)                     \
    LACKS(contextAddToDlc)
#define SYSTEM_SLOTS(HAS, LACKS)                                                                   \
    HAS(systemContextCreate) HAS(systemContextGetBinaryInfo) HAS(systemContextGetMetaData)         \
    HAS(systemContextFree) HAS(systemTensorGetMemoryFootprint) HAS(systemLogCreate)                \
    HAS(systemLogSetLogLevel) HAS(systemLogFree) LACKS(systemDlcCreateFromFile)                    \
    LACKS(systemDlcCreateFromBinary) LACKS(systemDlcComposeGraphs) LACKS(systemDlcGetOpMappings)   \
    LACKS(systemDlcFree) LACKS(systemProfileCreateSerializationTarget)                             \
    LACKS(systemProfileSerializeEventData) LACKS(systemProfileFreeSerializationTarget)             \
    LACKS(systemDlcGetRecordByName) LACKS(systemDlcGetRecordsByType)                               \
    LACKS(systemDlcGetRecordDataSize) LACKS(systemDlcReadRecordDataMemoryMapped)                   \
    LACKS(systemDlcFreeRecord) LACKS(systemDlcSave)                                                \
    LACKS(systemDlcCreateFromFileWithDestinationDir)                                               \
    LACKS(systemDlcCreateFromBinaryWithDestinationDir) LACKS(systemDlcGetBinarySize)               \
    LACKS(systemDlcGetBinary) LACKS(systemDlcCreateWithDestinationDir)
#define POWER_SLOTS(HAS, LACKS)                                                                    \
    HAS(createPowerConfigId) HAS(destroyPowerConfigId) HAS(setPowerConfig) HAS(setMemoryConfig)

#define REF_SLOT_AT(name) AT_##name,
enum {
    CORE_SLOTS(REF_SLOT_AT, REF_SLOT_AT) SYSTEM_SLOTS(REF_SLOT_AT, REF_SLOT_AT)
    POWER_SLOTS(REF_SLOT_AT, REF_SLOT_AT) REF_SLOTS
};

const char *ref_slot_name(int slot);
int ref_slot_find(const char *name);     /* REF_NONE: no such slot */

#endif
